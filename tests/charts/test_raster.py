import math

import numpy as np
import pytest
from looping import looped
from msgspec.structs import replace

from hadamard_tui.charts.drawing.chart_sheet import printed
from hadamard_tui.charts.drawing.raster import paint_series

from .naive import naive_dots
from .pictures import axes, curve, dots, text

COLUMNS, ROWS = 10, 5


def painted(series, on=None, **rest):
    return paint_series(series, on or axes(), COLUMNS, ROWS, **rest)


@looped("seed", range(40))
@looped("points", [1, 2, 7, 20, 300])
def test_every_dot_equals_the_naive_painting(seed, points):
    rng = np.random.default_rng([seed, points])
    x = np.sort(rng.uniform(-0.3, 1.3, points))
    y = rng.normal(0.5, rng.choice([0.05, 0.5]), points)
    y[rng.random(points) < 0.1] = math.nan
    on = axes((0, 1), (0, 1))
    assert dots(painted([curve(y, x)], on)) == naive_dots(x, y, (0, 1), (0, 1), 2 * COLUMNS, 4 * ROWS)


@pytest.mark.parametrize("logs", [(True, False), (False, True), (True, True)])
def test_every_dot_equals_the_naive_painting_on_log_axes(logs):
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, y = np.sort(rng.uniform(-0.1, 8, 60)), rng.uniform(-0.1, 2, 60)
        on = axes((0.1, 9), (0.01, 3), x_log=logs[0], y_log=logs[1])
        expected = naive_dots(x, y, (0.1, 9), (0.01, 3), 2 * COLUMNS, 4 * ROWS, logs)
        assert dots(painted([curve(y, x)], on)) == expected


def test_series_with_a_shared_x_are_painted_as_if_alone():
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 19, 50))
    series = [curve(rng.random(50), x if index % 2 else x + 0.1) for index in range(8)]
    assert dots(painted(series)) == set.union(*(dots(painted([one_series])) for one_series in series))


def test_unsorted_points_are_joined_in_the_order_of_x():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0, 19, 30), rng.random(30)
    order = np.argsort(x)
    assert dots(painted([curve(y, x)])) == dots(painted([curve(y[order], x[order])]))


def test_decimation_keeps_the_extremes_of_every_column():
    y = np.random.default_rng(4).random(20_000) * 0.5
    y[12_345], y[3_000] = 1.0, 0.0
    x = np.linspace(0, 19, len(y))
    positions = dots(painted([curve(y, x)]))
    assert {row for row, column in positions if column == round(x[12_345])}.issuperset({0, 15})
    assert (19, round(x[3_000])) in positions
    assert positions == naive_dots(x, y, (0, 19), (0, 1), 2 * COLUMNS, 4 * ROWS)


def test_a_single_point_of_a_curve_is_a_single_dot_in_every_style():
    for style in ("solid", "dashed", "dotted"):
        for x in range(20):
            assert dots(painted([curve([1.0], [x], style=style, faint=True)])) == {(0, x)}


def test_nan_interrupts_a_curve_and_is_not_counted():
    picture = painted([curve([0.5, 0.5, math.nan, 0.5, 0.5], [0, 4, 8, 12, 16])])
    assert {column for _, column in dots(picture)} == {0, 1, 2, 3, 4, 12, 13, 14, 15, 16}
    assert not picture.remark


def test_infinities_are_masked_and_counted():
    picture = painted(
        [curve([0.5, math.inf, 0.5, -math.inf, 0.5], [0, 4, 8, 12, 16]), curve([1], [math.inf])]
    )
    assert {column for _, column in dots(picture)} == {0, 8, 16}
    assert picture.remark == "3 points not drawn (≤ 0 or ∞)"


def test_values_without_a_logarithm_are_masked_and_counted():
    on = axes((1, 100), (0.1, 1), x_log=True, y_log=True)
    picture = painted([curve([0.5, 0.5, 0.0, -1.0, 0.5], [0, 1, 10, 20, 100])], on)
    assert {column for _, column in dots(picture)} == {0, 19}
    assert picture.remark == "x ≤ 0 not shown · 2 points not drawn (≤ 0 or ∞)"


def test_a_segment_leaving_the_limits_is_cut_at_the_border():
    positions = dots(painted([curve([0.5, 2.0], [0, 15])]))
    assert {column for _, column in positions} == set(range(6))
    assert min(row for row, _ in positions) == 0


def test_a_segment_between_two_points_outside_is_drawn_inside():
    positions = dots(painted([curve([-1, 2], [-19, 38])]))
    assert (19, 0) in positions
    assert (0, 19) in positions
    assert {column for _, column in positions} == set(range(20))


def test_enormous_values_do_not_overflow():
    positions = dots(painted([curve([0.5, 1e308, -1e308, 0.5], [0, 5, 10, 15])]))
    assert {column for _, column in positions}.issuperset({0, 15})


@pytest.mark.parametrize("style", ["dashed", "dotted"])
def test_dashes_stay_in_place_while_data_grow(style):
    y = np.linspace(1, 0.2, 200)
    x = np.linspace(0, 19, 200)
    dashes = dots(painted([curve(y, x, style=style)]))
    assert dashes < dots(painted([curve(y, x)]))
    for points in range(40, 200, 7):
        done = math.floor(x[points - 1] + 0.5)  # the column still in progress may differ
        part = dots(painted([curve(y[:points], x[:points], style=style)]))
        assert {dot for dot in part if dot[1] < done} == {dot for dot in dashes if dot[1] < done}


def test_later_series_determine_the_colour_of_shared_cells():
    flat = curve([0.5, 0.5], [0, 19], name="")
    picture = painted([flat, flat, curve([0.5, 0.5], [0, 9], name="")])
    row = picture.colours[picture.colours.max(axis=1) >= 0][0]
    assert row.tolist() == [2] * 5 + [1] * 5


def test_cells_without_dots_are_blank_and_own_no_colour():
    picture = painted([curve([0.5, 0.5], [0, 9])])
    assert ((picture.glyphs == ord(" ")) == (picture.colours == -1)).all()


def test_a_band_shades_between_its_borders_behind_every_line():
    x = np.array([0.0, 19.0])
    banded = curve([0.5, 0.5], x, band=(np.array([0.25, 0.25]), np.array([0.75, 0.75])))
    picture = painted([curve([0.5, 0.5], x), banded])
    shaded = dots(picture) - dots(painted([curve([0.5, 0.5], x)]))
    rows = {row for row, _ in shaded}
    assert shaded
    assert min(rows) >= 4
    assert max(rows) <= 15
    assert picture.faint.any()
    below = painted([banded, curve([0.5, 0.5], x, name="")])
    line = below.colours[2]
    assert (line == 1).all()
    assert not below.faint[2].any()


def test_a_band_down_to_zero_reaches_the_bottom_of_a_log_axis():
    x = np.array([0.0, 19.0])
    on = axes(y_limits=(0.01, 1), y_log=True)
    picture = painted([curve([math.nan] * 2, x, band=(np.zeros(2), np.ones(2)))], on)
    assert (picture.colours == 0).all()
    assert not picture.remark


def test_faint_series_can_be_distinguished():
    picture = painted([curve([1, 1], [0, 19]), curve([0, 0], [0, 19], faint=True)])
    assert not picture.faint[0].any()
    assert picture.faint[-1].all()


def test_marks_stand_at_the_last_visible_points_without_overlap():
    flat = [curve([1.0] * 20, mark=letter) for letter in "AB"]
    picture = painted([*flat, curve([0.0, 0.0, math.nan], [0, 9, 19], mark="C")])
    assert text(picture)[0].endswith("A")
    assert text(picture)[0][-3] == "B"
    assert text(picture)[-1][4] == "C"
    assert (picture.colours[0, -1], picture.colours[0, -3], picture.colours[-1, 4]) == (0, 1, 2)


def test_marks_without_room_stand_side_by_side():
    flat = [curve([1.0, 1.0], [0, 19], mark=letter) for letter in "ABCDEFGHIJ"[:COLUMNS]]
    marks = [letter for letter in text(painted(flat))[0] if letter.isalpha()]
    assert sorted(marks) == sorted("ABCDEFGHIJ"[:COLUMNS])


def test_a_single_point_of_a_line_is_drawn_as_a_bullet():
    for x in range(20):
        picture = painted([curve([0.5], [x], "", style="long"), curve([1.0], [9])])
        assert ["•" in line for line in text(picture)] == [False, False, True, False, False]


def test_the_playhead_is_drawn_behind_the_curves():
    picture = painted([curve([1, 1], [0, 19])], playhead=19)
    assert [row[-1] for row in text(picture)[1:]] == ["┊"] * (ROWS - 1)
    assert text(picture)[0][-1] != "┊"
    assert "┊" not in "".join(text(painted([], playhead=25)))


def test_the_playhead_is_drawn_over_shaded_regions():
    x = np.array([0.0, 19.0])
    shade = curve([math.nan] * 2, x, "", band=(np.zeros(2), np.ones(2)), is_region=True)
    picture = painted([shade], playhead=0)
    assert [row[0] for row in text(picture)] == ["┊"] * ROWS
    assert (picture.colours[:, 0] == -1).all()


def test_no_series_give_a_blank_picture():
    assert text(painted([])) == [" " * COLUMNS] * ROWS
    assert text(painted([curve([])])) == [" " * COLUMNS] * ROWS


@pytest.mark.parametrize("size", [(1, 1), (0, 0), (1, 7), (9, 1), (0, 3), (3, 0)])
def test_any_size_can_be_painted(size):
    picture = paint_series([curve(np.linspace(0, 1, 20), mark="A")], axes(), *size, playhead=3)
    assert picture.glyphs.shape == (size[1], size[0])


def test_integer_arrays_are_accepted():
    integers = np.arange(20)
    assert dots(painted([type(curve([0]))("ints", integers, integers % 2, "red")])) == dots(
        painted([curve(integers % 2)])
    )


def test_a_region_of_theory_is_lighter_than_an_error_band():
    x, nothing = np.array([0.0, 19.0]), [math.nan] * 2
    band = np.array([-math.inf] * 2), np.array([0.75, 0.75])
    light = painted([curve(nothing, x, "", band=band, is_region=True, faint=True)])
    dense = painted([curve(nothing, x, "", band=band)])
    assert len(dots(dense)) >= 4 * len(dots(light)) > 0
    assert light.faint[light.colours >= 0].all()
    on = axes(x_limits=(1, 19), x_log=True)
    assert not painted([curve(nothing, x, "", band=band, is_region=True)], on).remark


def test_points_are_drawn_without_joining_lines():
    """Points in the middle of cells: 10 columns of width 0.1, and 5 rows of height 0.2 from the top."""
    x, y = np.array([0.05, 0.55, 0.95]), np.array([0.9, 0.1, 0.5])
    apart = np.column_stack((y, np.full(3, math.nan))).ravel()
    picture = painted([replace(curve(apart, x.repeat(2)), style="points")], axes((0, 1), (0, 1)))
    places = {(row, column) for row, column in np.argwhere(picture.glyphs != ord(" ")).tolist()}
    assert places == {(0, 0), (4, 5), (2, 9)}
    assert {chr(picture.glyphs[place]) for place in places} == {"•"}


def test_points_in_one_column_are_not_joined():
    x = np.array([10.0, 10.01, 10.02])
    picture = paint_series([curve([0.1, 0.9, 0.1], x, style="points")], axes(), 20, 10)
    assert "".join(text(picture)).count("•") == 2
    assert not dots(picture)
    lines = printed([curve([0.1, 0.9, 0.1], x, style="points")], axes(), 30, 14, colour=False).split("\n")
    assert "".join(line for line in lines if "│" in line or "┤" in line).count("o") == 2
