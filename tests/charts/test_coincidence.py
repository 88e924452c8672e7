"""Coinciding curves share one line on the chart, and none of them is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from hadamard_tui.charts.drawing.chart_sheet import printed
from hadamard_tui.charts.drawing.coincidence import alike, are_equal, coincident, drawn_once, repeated
from hadamard_tui.charts.drawing.raster import paint_series
from hadamard_tui.charts.drawing.spans import lay
from hadamard_tui.charts.series import Axes, Series

from .pictures import axes, curve, text

X = np.linspace(0, 19, 200)
FALLING = 1 - X / 19
BOUND = curve(FALLING, X, "bound", "white", style="dashed")
GD, LEAST_SQUARES = curve(FALLING, X, "GD", "blue", mark="A"), curve(FALLING, X, "LS", "cyan", mark="B")
EGU = curve(np.exp(-X), X, "EGU", "red", mark="C")


def groups(*series: Series) -> list[tuple[int, ...]]:
    return coincident(series, lay(series, axes(), 120, 80)[0])


def test_curves_that_coincide_where_both_are_shown_form_a_group_led_by_learners():
    assert groups(BOUND, GD, LEAST_SQUARES, EGU) == [(1, 2, 0), (3,)]
    half = curve(FALLING[:100], X[:100], "half", mark="D")
    assert groups(BOUND, half) == [(1, 0)]


def test_diverging_curves_and_very_short_curves_form_no_group():
    near = curve(FALLING + 0.03 * (X > 10), X, "near", mark="D")
    assert groups(GD, near) == [(0,), (1,)]
    assert groups(GD, curve(FALLING[:9], X[:9], "new", mark="D")) == [(0,), (1,)]


def test_faint_curves_and_curves_without_a_name_are_in_no_group():
    assert groups(GD, curve(FALLING, X, ""), curve(FALLING, X, "ahead", faint=True)) == [(0,)]


def test_a_group_is_drawn_once_in_the_alternating_colours_of_its_curves():
    picture = paint_series([BOUND, GD, LEAST_SQUARES, EGU], axes(), 60, 20)
    alone = paint_series([GD], axes(), 60, 20)
    for member in range(3):
        assert (picture.colours == member).sum() >= 10
    on_line = (alone.colours == 0) & (picture.colours != 3)
    braille = on_line & (picture.glyphs >= 0x2800) & (alone.glyphs >= 0x2800)
    assert (picture.glyphs[braille] == alone.glyphs[braille]).mean() > 0.9, "it is no wider than one"
    assert {"A", "B", "C"} <= set("".join(text(picture)))


def test_a_line_shows_through_a_curve_that_partly_covers_it():
    wide = curve(np.full(200, 0.5), X, "bound", style="dashed")
    covering = curve(np.where(X < 15, 0.5, 0.0), X, "curve", mark="A")
    picture = paint_series([wide, covering], axes(), 60, 20)
    row = picture.colours[10 if (picture.colours[10] == 1).any() else 9]
    assert (row[:45] == 0).sum() >= 5
    assert (row[:45] == 1).sum() >= 25


@pytest.mark.parametrize("curves", [[GD], [GD, LEAST_SQUARES], [LEAST_SQUARES, EGU, GD]])
def test_a_bound_hides_no_learner_in_a_printed_chart(curves: list[Series]):
    for series in ([BOUND, *curves], [*curves, BOUND]):
        lines = printed(series, axes(), 80, 24, colour=False).split("\n")
        chart = "".join(line for line in lines if line.endswith("│"))
        assert all(chart.count(learner_series.mark or "") >= 5 for learner_series in curves)
        names = " ≡ ".join(
            f"{learner_series.mark} ─── {learner_series.name}"
            for learner_series in curves
            if learner_series is not EGU
        )
        assert f"{names} ≡ " in "".join(lines)
        assert "╌╌╌ bound" in "".join(lines)


def test_a_legend_distinguishes_equal_curves_from_near_curves():
    near = curve(FALLING + 0.004 * X / 19, X, "near", mark="D")
    assert groups(GD, near) == [(0, 1)]
    assert are_equal(GD, BOUND)
    assert are_equal(GD, curve(FALLING[:50] + 1e-6, X[:50], "half"))
    assert not are_equal(GD, near)
    assert not are_equal(GD, curve([1.0], [30.0]))
    text = printed([GD, near, BOUND], axes(), 80, 24, colour=False)
    assert "A ─── GD ≡ o ╌╌╌ bound ≈ D ─── near" in text, "the equal ones first: a sign is about the first"


def alike_on(on: Axes, *series: Series) -> list[tuple[int, ...]]:
    return alike(series, on, [tuple(range(len(series)))])


def test_nearness_of_curves_depends_on_values_rather_than_on_chart_height():
    apart = curve(FALLING + 0.03, X, "apart", mark="D")
    low = [GD, apart, BOUND]
    assert coincident(low, lay(low, axes(), 120, 16)[0]) == [(0, 1, 2)]
    assert alike_on(axes(), *low) == [(0, 2), (1,)]
    assert paint_series(low, axes(), 60, 4).groups == [(0, 2), (1,)]
    half = curve(FALLING[::20] + 0.004, X[::20], "half")
    assert alike_on(axes(), GD, half, apart) == [(0, 1), (2,)], "at the points that there are"


@pytest.mark.parametrize(("factor", "near"), [(1.0, True), (1.05, True), (1.2, False), (8.0, False)])
def test_nearness_on_a_log_axis_is_a_factor_independent_of_its_length(factor: float, near: bool):
    y = 10.0 ** (-X / 2)
    on = axes(y_limits=(1e-13, 1), y_log=True)
    groups = alike_on(on, curve(y, X, "one", mark="A"), curve(factor * y, X, "other", mark="B"))
    assert groups == ([(0, 1)] if near else [(0,), (1,)])
    assert are_equal(curve(y, X), curve(factor * y, X), log=True) == (factor == 1)
    assert are_equal(curve(y, X), curve(y + 1e-9, X)), "on a linear axis the rounding is that of the largest"
    assert not are_equal(curve(y, X), curve(y + 1e-9, X), log=True)


SHORT = curve(FALLING[:120], X[:120], "short", "white", style="dashed")
SPARSE = curve(FALLING, X, "limit", "white", style="sparse")
PARTING = curve(np.where(X > 9, 0.9, FALLING), X, "parting", "white", style="dashed")
CROSSING = curve(1 - FALLING, X, "crossing", "white", style="dashed")


def laid(series: list[Series], on: Axes):
    return lay(series, on, 120, 80)[0]


@pytest.mark.parametrize(
    ("series", "drawn"),
    [
        ([SHORT, BOUND], [1.0, 0.4]),
        ([BOUND, SHORT], [1.0, 0.0]),
        ([BOUND, PARTING], [1.0, 0.55]),
        ([SPARSE, BOUND], [0.0, 1.0]),
        ([BOUND, CROSSING], [1.0, 1.0]),
        ([BOUND, GD], [1.0, 1.0]),
    ],
)
def test_only_the_part_of_a_line_beyond_other_lines_is_drawn(series: list[Series], drawn: list[float]):
    lines = laid(series, axes())
    is_drawn = lines.shown & ~repeated(series, lines)
    assert (is_drawn.sum(1) / lines.shown.sum(1)).tolist() == pytest.approx(drawn, abs=0.06)


def test_lines_of_a_group_are_not_marked_as_repeated():
    lines = laid([SHORT, BOUND], axes())
    assert repeated([SHORT, BOUND], lines).any()
    assert not repeated([SHORT, BOUND], lines, [(0, 1)]).any()


@pytest.mark.parametrize(("x_log", "y_log"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_line_with_gaps_keeps_its_place_and_resumes_after_the_other_line(x_log: bool, y_log: bool):
    x = np.geomspace(1, 100, 7)  # so few points that segments lead into the gaps
    full_bound = curve(1 / x, x, "bound", style="dashed")
    fine = np.geomspace(1, 100, 500)
    straight = np.interp(
        np.log(fine) if x_log else fine, np.log(x) if x_log else x, np.log(1 / x) if y_log else 1 / x
    )
    part = curve((np.exp(straight) if y_log else straight)[:420], fine[:420], "part", style="dashed")
    on = axes((1, 100), (0.01, 1), x_log=x_log, y_log=y_log)
    lines = laid([part, full_bound], on)
    once = drawn_once([part, full_bound], on, lines)
    assert once[0] is part
    shown = laid(once, on).shown
    assert (shown[0] & shown[1]).sum() <= 2, "where one begins the other ends"
    assert (shown[0] | shown[1]).all()
    has_value = np.isfinite(once[1].y)
    again = laid([replace(full_bound, x=once[1].x[has_value], y=once[1].y[has_value])], on)
    is_shown = shown[1]
    assert np.abs(again.centre[0] - lines.centre[1])[is_shown].max() <= 1


def test_partly_coinciding_lines_are_not_drawn_thicker():
    near = replace(PARTING, y=PARTING.y + 0.4 / 80)
    alone, both = (paint_series(series, axes(), 60, 20) for series in ([BOUND], [BOUND, near]))
    begin = np.s_[:, :24]
    assert np.array_equal(alone.glyphs[begin], both.glyphs[begin])
    assert not np.array_equal(alone.glyphs, both.glyphs)


def test_a_band_has_gaps_at_the_gaps_of_its_line():
    banded = replace(BOUND, band=(BOUND.y - 0.1, BOUND.y + 0.1))
    lines = laid([SHORT, banded], axes())
    _, once = drawn_once([SHORT, banded], axes(), lines)
    assert once.band is not None
    gone = np.isnan(once.y)
    assert gone.any()
    for edge, away in zip(once.band, (-0.1, 0.1), strict=True):
        assert np.array_equal(np.isnan(edge), gone)
        np.testing.assert_allclose(edge[~gone], once.y[~gone] + away, atol=1e-9)


def test_partly_coinciding_lines_are_printed_once_where_they_coincide():
    lines = printed([BOUND, PARTING], axes(), 80, 24, colour=False).split("\n")
    chart = [line[4:40] for line in lines if line.endswith("│")]
    first = set("".join(chart)) & set("ox")
    assert len(first) == 1, "both have markers, of which one is there"
