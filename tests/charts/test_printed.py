import math

import numpy as np
import pytest
from rich.cells import cell_len

from hadamard_tui.charts.drawing.chart_sheet import _series_markers, printed

from .pictures import axes, curve

SERIES = [
    curve(np.linspace(1, 0, 20), name="GD"),
    curve(np.linspace(0.5, 0, 20), name="EGU", mark="E"),
    curve(np.linspace(0.8, 0.8, 20), name="bound", style="dashed", mark="b"),
]


def test_markers_are_unique_while_unused_markers_remain():
    lettered = [curve(np.full(9, 0.1), name=f"net {mark}", mark=mark) for mark in "ABCDEFGHIJ"]
    lines = [curve(np.full(9, 0.05 * at), name=f"line {at}") for at in range(10)]
    interleaved = [series for pair in zip(lettered, lines, strict=True) for series in pair]
    assert len(set(_series_markers(interleaved))) == len(interleaved)


def test_a_printed_chart_has_the_requested_size():
    for size in ((80, 24), (40, 12), (20, 5), (5, 2)):
        lines = printed(SERIES, axes(), *size, colour=False).split("\n")
        assert len(lines) == size[1]
        assert max(map(cell_len, lines)) <= size[0]


def test_printed_curves_are_distinguishable_without_colour():
    text = printed(SERIES, axes(), 80, 24, colour=False)
    assert "\x1b" not in text
    assert text.count("o") > 20
    assert text.count("E") > 20
    for name in ("o ─── GD", "E ─── EGU", "b ╌╌╌ bound"):
        assert name in text


def test_dashed_curves_are_sparse_dots():
    text = printed(SERIES[2:], axes(), 80, 24, colour=False)
    row = next(line for line in text.split("\n") if "·" in line)
    assert row.count("·") > 20
    assert "· ·" in row
    assert "b" in row


def test_every_coinciding_curve_is_visible():
    y = np.linspace(1, 0, 20)
    along = [curve(y, name="bound", style="dashed"), *(curve(y, name=mark, mark=mark) for mark in "ABC")]
    rows = [line for line in printed(along, axes(), 80, 24, colour=False).split("\n") if line.endswith("│")]
    for mark in "ABC":
        assert "".join(rows).count(mark) > 10


def test_a_printed_chart_has_colour_codes_on_request():
    assert "\x1b[38;2;255;0;0m" in printed([curve([0, 1], colour="#ff0000")], axes(), 60, 20, colour=True)


def test_nan_and_infinities_are_left_out_and_counted():
    broken = curve([math.nan, math.inf, 0.5, -math.inf, math.nan])
    text = printed([broken], axes((0, 4)), 60, 20, colour=False)
    assert "2 points not drawn (≤ 0 or ∞)" in text
    inside = [line for line in text.split("\n") if line.endswith("│")]
    assert "".join(inside).count("o") == 1


def test_a_chart_without_data_has_axes():
    assert "┌" in printed([], axes(), 60, 20, colour=False)
    assert "┌" in printed([curve([math.nan])], axes(), 60, 20, colour=False)


@pytest.mark.parametrize("colour", [False, True])
def test_printing_is_reproducible(colour):
    assert printed(SERIES, axes(), 80, 24, colour) == printed(SERIES, axes(), 80, 24, colour)


def test_an_arrow_stands_where_a_curve_leaves_the_chart():
    lines = printed([curve([0.5, 3, 0.5], [0, 10, 19], "GD", mark="A")], axes(), 60, 20, False).split("\n")
    assert lines[1].count("↑A") == 1, "at the top of the plot area"
