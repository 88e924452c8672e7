"""Letters stand on the points of short curves, and at equal distances along long ones."""

from __future__ import annotations

import numpy as np

from hadamard_tui.charts.drawing.raster import paint_series

from .pictures import axes, curve, text


def places(letter: str, *series, **on) -> list[tuple[int, int]]:
    rows = text(paint_series(series, axes(**on), 60, 11))
    return sorted(
        (column, row)
        for row, line in enumerate(rows)
        for column in np.flatnonzero([*line] == np.array(letter))
    )


def test_a_curve_of_few_points_has_letters_exactly_at_its_points():
    few = curve([1, 0, 0.5], [0, 10, 19], mark="A")
    assert places("A", few) == [(0, 0), (31, 10), (59, 5)]


def test_letters_of_coinciding_curves_alternate_along_their_points():
    x = np.linspace(0, 19, 6)
    same = [curve(np.linspace(1, 0, 6), x, name, mark=name) for name in "AB"]
    places_by_name = {name: places(name, *same) for name in "AB"}
    assert len(places_by_name["A"]) == len(places_by_name["B"]) == 3
    assert places_by_name["A"][-1] == (59, 10)


def test_many_or_dense_points_share_few_letters():
    many = curve(np.linspace(1, 0, 20), mark="A")
    assert len(places("A", many)) < 6
    dense = curve([1, 0.5, 0], [0, 0.1, 0.2], mark="A")
    assert len(places("A", dense)) == 1


def test_a_curve_of_rounding_errors_has_no_letter():
    y = [0.5, 1e-30, 0.5]
    letters = places("A", curve(y, [0, 10, 19], mark="A"), y_limits=(0.01, 1), y_log=True, y_rounding=1e-20)
    assert [column for column, _ in letters] == [0, 59]


def test_a_sign_marks_zeros_at_the_foot_of_a_log_axis():
    y, on = [0.5, 1e-30, 0.0, 0.5], {"y_limits": (0.01, 1), "y_log": True, "y_rounding": 1e-20}
    signs = places("▾", curve(y, [0, 6, 12, 19], mark="A"), **on)
    assert [row for _, row in signs] == [10, 10]
    assert [column for column, _ in signs] == [19, 37]
    assert not places("▾", curve(y, [0, 6, 12, 19], mark="A"))
    many = curve(np.where(np.arange(200) % 2, 0.5, 0), np.linspace(0, 19, 200), mark="A")
    assert not places("▾", many, **on)


def test_letters_of_coinciding_curves_stand_on_their_shared_line():
    y = np.full(40, 0.443)
    same = [
        curve(y, np.linspace(0, 19, 40), "A", mark="A"),
        curve(y + 0.023, np.linspace(0, 19, 40), "B", mark="B"),
    ]
    assert {row for name in "AB" for _, row in places(name, *same)} == {places("A", *same)[0][1]}
    alone = [places("B", same[1])[0][1], places("A", same[0])[0][1]]
    assert alone[0] != alone[1], "apart they are on rows of their own"


def test_an_arrow_and_its_letter_stand_where_a_curve_leaves_the_chart():
    y = [0.5, 0.5, 3.0, 4.0, 0.5, 0.5, 0.5, 0.5, 0.5, 2.0]
    rows = text(paint_series([curve(y, np.linspace(0, 19, 10), mark="A")], axes(), 60, 11))
    assert [column for column, _ in places("↑", curve(y, np.linspace(0, 19, 10), mark="A"))] == [13, 58]
    assert rows[0][13:15] == rows[0][58:60] == "↑A"
    assert "↓" not in "".join(rows)


def test_an_arrow_points_down_below_a_log_axis_except_for_rounding():
    on = {"y_limits": (0.01, 1), "y_log": True, "y_rounding": 1e-20}
    low = curve([0.5, 1e-6, 1e-30, 0.5], [0, 6, 12, 19], mark="A")
    assert places("↓", low, **on) == [(19, 10)]
    assert not places("↓", low), "a linear axis is left at the foot by rounding alone"


def test_arrows_of_two_curves_at_the_same_place_do_not_overlap():
    high = [curve([0.5, 3, 0.5], [0, 10, 19], mark=letter) for letter in "AB"]
    assert len(places("↑", *high)) == 1


def test_faint_curves_and_curves_without_a_letter_have_no_arrow():
    y = [0.5, 3.0, 0.5]
    assert not places("↑", curve(y, [0, 10, 19]), curve(y, [0, 10, 19], mark="A", faint=True))
