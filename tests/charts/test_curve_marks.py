"""Letters stand on data where these are few, and along the way where they are many."""

from __future__ import annotations

import numpy as np

from hadamard_tui.charts.raster import paint

from .pictures import axes, curve, text


def places(letter: str, *series, **on) -> list[tuple[int, int]]:
    rows = text(paint(series, axes(**on), 60, 11))
    return sorted(
        (column, row)
        for row, line in enumerate(rows)
        for column in np.flatnonzero([*line] == np.array(letter))
    )


def test_a_curve_of_few_points_has_its_letter_at_each_of_them_and_nowhere_else():
    few = curve([1, 0, 0.5], [0, 10, 19], mark="A")
    assert places("A", few) == [(0, 0), (31, 10), (59, 5)]


def test_curves_that_coincide_take_their_points_by_turns():
    x = np.linspace(0, 19, 6)
    same = [curve(np.linspace(1, 0, 6), x, name, mark=name) for name in "AB"]
    found = {name: places(name, *same) for name in "AB"}
    assert len(found["A"]) == len(found["B"]) == 3
    assert found["A"][-1] == (59, 10)


def test_points_that_are_many_or_dense_have_letters_along_the_way():
    many = curve(np.linspace(1, 0, 20), mark="A")
    assert len(places("A", many)) < 6
    dense = curve([1, 0.5, 0], [0, 0.1, 0.2], mark="A")
    assert len(places("A", dense)) == 1


def test_what_is_0_but_for_rounding_has_no_letter():
    y = [0.5, 1e-30, 0.5]
    found = places("A", curve(y, [0, 10, 19], mark="A"), y_limits=(0.01, 1), y_log=True, y_rounding=1e-20)
    assert [column for column, _ in found] == [0, 59]


def test_where_a_curve_is_0_on_a_logarithmic_axis_a_sign_stands_at_its_foot():
    y, on = [0.5, 1e-30, 0.0, 0.5], {"y_limits": (0.01, 1), "y_log": True, "y_rounding": 1e-20}
    found = places("▾", curve(y, [0, 6, 12, 19], mark="A"), **on)
    assert [row for _, row in found] == [10, 10]
    assert [column for column, _ in found] == [19, 37]
    assert not places("▾", curve(y, [0, 6, 12, 19], mark="A"))
    many = curve(np.where(np.arange(200) % 2, 0.5, 0), np.linspace(0, 19, 200), mark="A")
    assert not places("▾", many, **on)


def test_a_letter_stands_on_the_line_that_is_drawn_for_curves_that_run_along_each_other():
    y = np.full(40, 0.443)
    same = [
        curve(y, np.linspace(0, 19, 40), "A", mark="A"),
        curve(y + 0.023, np.linspace(0, 19, 40), "B", mark="B"),
    ]
    assert {row for name in "AB" for _, row in places(name, *same)} == {places("A", *same)[0][1]}
    alone = [places("B", same[1])[0][1], places("A", same[0])[0][1]]
    assert alone[0] != alone[1], "apart they are on rows of their own"
