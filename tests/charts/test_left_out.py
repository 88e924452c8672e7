"""A chart states what it leaves out, and its legend names only lines that it draws."""

import numpy as np
import pytest
from msgspec.structs import replace

from hadamard_tui.charts.drawing.chart_sheet import printed
from hadamard_tui.charts.drawing.raster import paint_series

from .pictures import axes, curve, dots

Y = np.linspace(0.5, 0.1, 20)


def remark(*series, **on):
    return paint_series(series, axes(**on), 10, 4).remark


def test_curves_that_leave_the_chart_at_the_top_are_named():
    low, high = curve(Y, mark="A"), curve(1 + Y, mark="B")
    assert remark(low, high, curve(3 * Y, mark="C")) == "above the chart: B, C"
    assert not remark(low, curve(np.where(Y > 0.4, np.nan, Y), mark="B"))
    assert not remark(high, x_limits=(30, 40)), "what is beside the window is not above it"
    assert remark(curve([0.5, 2, np.inf], mark="A")) == "above the chart: A · 1 point not drawn (≤ 0 or ∞)"


def test_curves_that_leave_a_log_axis_at_the_foot_are_named():
    on = {"y_limits": (0.2, 1), "y_log": True}
    assert remark(curve(Y, mark="A"), curve(Y + 0.2, mark="B"), **on) == "below the chart: A"
    both = curve([0.5, 2, 0.1], mark="A")
    assert remark(both, **on) == "above the chart: A · below the chart: A"
    assert not remark(curve(Y - 0.2, mark="A")), "a linear axis is cut there for rounding alone"


def test_hidden_points_of_lines_are_not_counted():
    on = {"y_limits": (0.1, 1), "y_log": True}
    assert not remark(curve(Y, mark="A"), curve(0 * Y, style="dashed"), **on)
    assert remark(curve(0 * Y, mark="A"), **on) == "20 points not drawn (≤ 0 or ∞)"


@pytest.mark.parametrize(
    ("y", "is_drawn"), [(Y, True), (0 * Y, False), (1e-9 + 0 * Y, False), ([0.5], True), ([], True)]
)
def test_a_legend_names_only_drawn_lines(y, is_drawn):
    on = axes(y_limits=(0.1, 1), y_log=True)
    series = [curve(Y, name="GD", mark="A"), curve(y, name="bound", style="dashed")]
    assert paint_series(series, on, 20, 6).left_out == (frozenset() if is_drawn else {1})
    assert ("╌╌╌ bound" in printed(series, on, 60, 20, colour=False)) == is_drawn


def test_the_legend_keeps_the_name_of_a_learner_outside_the_chart():
    gone = [curve(Y + 5, name="GD", mark="A"), curve(Y, name="EGU", mark="B")]
    assert not paint_series(gone, axes(), 20, 6).left_out
    assert "GD" in printed(gone, axes(), 60, 20, colour=False)


def test_lines_and_marks_that_leave_the_chart_are_named():
    bound = curve(3 * Y, name="least ‖w‖∞", style="long")
    assert remark(curve(Y, mark="A"), bound) == "above the chart: least ‖w‖∞"
    on = {"y_limits": (0.2, 1), "y_log": True}
    assert remark(curve(Y, name="bound", style="dashed"), **on) == "below the chart: bound"
    bounds = [curve(Y / n, name=f"bound, n = {n}", style="dashed") for n in (1, 2)]
    assert remark(*bounds, **on) == "below the chart: bound"


def test_cells_of_rounding_errors_are_gaps_counted_separately():
    on = {"y_limits": (0.01, 1), "y_log": True, "y_rounding": 1e-15}
    dashed_off = curve([0.5, 1e-16, 0.5, 0.0, 0.5], [0, 5, 10, 15, 19], mark="A")
    words = remark(dashed_off, **on)
    assert words == "1 point not drawn (≤ 0 or ∞) · 1 point not drawn (0 up to rounding)"
    columns = {
        column for _, column in dots(paint_series([replace(dashed_off, mark=None)], axes(**on), 20, 4))
    }
    assert len(columns) == 3


def test_the_remark_names_the_x_axis_of_places_without_a_logarithm():
    assert remark(curve([0.5, 0.5], [0, 10]), x_limits=(1, 19), x_log=True) == "x ≤ 0 not shown"
