import math

import numpy as np
import pytest

from hadamard_tui.charts.drawing.frame import arrange
from hadamard_tui.charts.drawing.heat_sheet import BLACK, GROUND, WHITE, cell_under, compose, paint_cells
from hadamard_tui.charts.heat_map import (
    Column,
    ContourLine,
    HeatMap,
    MarkedPoint,
    cell_borders,
    cells_at,
    read_cell,
    value_scale,
    with_error,
)
from hadamard_tui.charts.scales import Scale, ticks
from hadamard_tui.colours.palette import STEPS, colour_map
from hadamard_tui.terminal.ascii_text import to_ascii

from .heat_maps import criticality, halves, heat, lines
from .naive_heat import naive_steps, nearest

COLOURS = colour_map(dark_is_more=False)


def painted(heat_map, columns=20, rows=6, colours=COLOURS, cursor=None):
    return paint_cells(heat_map, value_scale(heat_map.z, heat_map.z_log), columns, rows, colours, cursor)


def random_heat(seed, logs):
    rng = np.random.default_rng(seed)
    nx, ny = rng.integers(2, 40, 2)
    x, y = np.sort(rng.uniform(0.1, 9, nx)), np.sort(rng.uniform(0.1, 9, ny))
    z = np.exp(rng.normal(0, 3, (ny, nx))) if logs[2] else rng.normal(0, 1, (ny, nx))
    z[rng.random(z.shape) < 0.15] = math.nan
    z.flat[rng.integers(z.size, size=2)] = math.inf, -math.inf
    return heat(z, x, y, x_log=logs[0], y_log=logs[1], z_log=logs[2])


ALL_LOGS = [(False, False, False), (True, False, True), (False, True, True), (True, True, False)]


@pytest.mark.parametrize("logs", ALL_LOGS)
def test_every_half_block_equals_the_naive_painting(logs):
    for seed in range(6):
        heat_map = random_heat(seed, logs)
        expected = naive_steps(heat_map.x, heat_map.y, heat_map.z.tolist(), 20, 12, logs, STEPS)
        assert halves(painted(heat_map)) == expected


@pytest.mark.parametrize("logs", ALL_LOGS)
def test_every_digit_equals_the_naive_painting(logs):
    for seed in range(6):
        heat_map = random_heat(seed, logs)
        # The centre of a character lies between its two halves: every second place of four to a character.
        finer = naive_steps(heat_map.x, heat_map.y, heat_map.z.tolist(), 20, 4 * 6 - 1, logs, 10)[1::4]
        words = ["".join("·" if step < 0 else str(step) for step in row) for row in finer]
        assert lines(painted(heat_map, colours=None)) == words


def test_cells_extend_halfway_to_their_neighbours():
    assert cell_borders(np.array([1.0, 2.0, 4.0]), False).tolist() == [0.5, 1.5, 3.0, 5.0]
    assert cell_borders(np.array([1.0, 10.0, 1000.0]), True) == pytest.approx([10**-0.5, 10**0.5, 1e2, 1e4])


@pytest.mark.parametrize(
    ("value", "log", "expected"),
    [(8.0, False, [4, 12]), (-8.0, False, [-12, -4]), (0.0, False, [-0.5, 0.5]), (8.0, True, [4, 16])],
)
def test_the_cell_of_a_single_value_surrounds_it(value, log, expected):
    assert cell_borders(np.array([value]), log) == pytest.approx(expected)


@pytest.mark.parametrize("log", [False, True])
def test_borders_of_extreme_values_are_finite_and_increase(log):
    extremes = np.array([1e-300, 1.0, 1e307]) if log else np.array([-1e308, 0.0, 1e308])
    edges = cell_borders(extremes, log)
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()


def test_a_value_on_a_border_belongs_to_the_upper_cell():
    values = np.array([0.5, 1.5, 2.5, 3.5])
    assert cells_at(np.arange(5), Scale((0.0, 4.0), False, 5), values).tolist() == [0, 1, 2, 3, 3]
    powers = np.array([2.0, 8.0, 32.0])  # borders 1, 4, 16 and 64
    assert cells_at(np.arange(4), Scale((1.0, 64.0), True, 4), powers).tolist() == [0, 1, 2, 2]


def test_the_order_of_input_values_does_not_matter():
    z = np.arange(12.0).reshape(3, 4)
    ordered = heat(z, [1, 2, 4, 8], [1, 5, 6], stderr=z / 10)
    other = HeatMap(
        ordered.x[::-1], ordered.y[[2, 0, 1]], z[[2, 0, 1]][:, ::-1], stderr=z[[2, 0, 1]][:, ::-1] / 10
    )
    assert halves(painted(other)) == halves(painted(ordered))
    assert other.stderr.tolist() == ordered.stderr.tolist()
    assert (np.diff(other.x) > 0).all()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"z": [[1.0, 2.0]], "x": [1.0]}, "shape"),
        ({"z": [[1.0]], "stderr": np.ones(3)}, "stderr"),
        ({"z": [[1.0, 2.0]], "x": [1.0, 1.0]}, "repetition"),
        ({"z": [[1.0, 2.0]], "x": [0.0, 1.0], "x_log": True}, "above 0"),
        ({"z": [[1.0]], "y": [math.nan]}, "finite"),
    ],
)
def test_values_off_a_grid_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        heat(**wrong)


def test_marks_and_paths_of_another_shape_are_refused():
    for mark in ("", "AB", "数"):
        with pytest.raises(ValueError, match="one letter"):
            MarkedPoint("here", 1.0, 1.0, mark)
    with pytest.raises(ValueError, match="shape"):
        ContourLine("line", np.zeros(3))


def test_a_single_row_and_a_single_column_fill_the_area():
    row, column = halves(painted(heat([[1.0, 2.0]]))), halves(painted(heat([[1.0], [2.0]])))
    assert {tuple(line) for line in row} == {(0,) * 10 + (STEPS - 1,) * 10}
    assert column == [[STEPS - 1] * 20] * 6 + [[0] * 20] * 6
    assert len({step for line in halves(painted(heat([[7.0]]))) for step in line}) == 1


@pytest.mark.parametrize("log", [False, True])
def test_equal_values_are_in_the_middle_of_the_scale(log):
    heat_map = heat(np.full((3, 3), 7.0), z_log=log)
    assert {step for line in halves(painted(heat_map)) for step in line} == {STEPS // 2}
    low, high = value_scale(heat_map.z, log).limits
    assert low < 7 < high


@pytest.mark.parametrize(
    ("values", "log", "steps"),
    [
        ([1e-300, 1.0, 1e300], True, [0, STEPS // 2, STEPS - 1]),
        ([-1e308, 1e306, 1e308], False, [0, STEPS // 2, STEPS - 1]),
        ([1e-300, 1e-300], True, [STEPS // 2] * 2),
        ([0.0, 1.0, -1.0, 10.0], True, [0, 0, 0, STEPS - 1]),
        ([math.inf, -math.inf, math.nan], False, [STEPS - 1, 0, -1]),
        ([0.0, 0.0], False, [STEPS // 2] * 2),
    ],
)
def test_values_of_any_size_have_a_colour_step(values, log, steps):
    assert value_scale(np.array(values), log).steps(np.array(values), STEPS).tolist() == steps


def test_values_outside_the_scale_are_named():
    assert value_scale(np.array([1.0, math.inf, math.nan, 2.0]), False).hidden == "1 infinite"
    assert value_scale(np.array([0.0, -1.0, 2.0, 3.0]), True).hidden == "2 not above 0"
    negative = value_scale(np.array([-1.0, -2.0]), True)
    assert (negative.log, negative.hidden) == (False, "linear scale, because no value is above 0")
    assert "1 infinite" in "".join(lines(compose(heat([[1.0, math.inf]]), 80, 24, COLOURS).cells))


def test_missing_cells_are_dotted_and_named():
    heat_map = heat([[1.0, math.nan], [2.0, math.nan]])
    cells = painted(heat_map)
    assert {line[10:] for line in lines(cells)} == {"·" * 10}
    assert (cells.back[:, 10:] == GROUND).all()
    assert "··· not computed yet" in "\n".join(lines(compose(heat_map, 80, 24, COLOURS).cells))
    diverged = heat(heat_map.z, missing="diverged")
    assert "··· diverged" in "\n".join(lines(compose(diverged, 80, 24, None).cells))
    assert "···" not in "\n".join(lines(compose(heat(), 80, 24, COLOURS).cells))


def test_numbered_rows_have_ticks_only_at_whole_numbers():
    for height in range(8, 30):
        numbered = arrange(heat(np.zeros((6, 3))).axes, 60, height, (1, 2)).y_ticks
        assert numbered
        assert all(label.isdigit() for _, label in numbered), f"at {height}"
    between = arrange(heat(np.zeros((6, 3)), y=np.arange(6) / 2).axes, 60, 24, (1, 2)).y_ticks
    assert any("." in label for _, label in between)


def test_a_map_without_known_values_can_be_shown():
    heat_map = heat(np.full((2, 2), math.nan), z_log=True)
    for colours in (COLOURS, None):
        assert "not computed yet" in "".join(lines(compose(heat_map, 80, 24, colours).cells))


def test_the_colours_equal_viridis_of_matplotlib_and_are_reversed_on_light_ground():
    from matplotlib import colormaps

    table = np.array(colormaps["viridis"].colors) * 255
    np.testing.assert_allclose(
        COLOURS.colours, table[np.round(np.linspace(0, 255, STEPS)).astype(int)], atol=0.5
    )
    assert (colour_map(dark_is_more=True).colours == COLOURS.colours[::-1]).all()
    assert (colour_map(dark_is_more=True).light[:STEPS] == COLOURS.light[:STEPS][::-1]).all()


@pytest.mark.parametrize("dark_is_more", [False, True])
def test_contour_lines_contrast_like_text_with_every_colour(dark_is_more):
    colours = colour_map(dark_is_more)
    for (red, green, blue), light in zip(colours.tints.tolist(), colours.light.tolist(), strict=True):
        linear = [
            s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4
            for s in (red / 255, green / 255, blue / 255)
        ]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        contrast = (luminance + 0.05) / 0.05 if light else 1.05 / (luminance + 0.05)
        assert contrast >= 4.5


def test_a_contour_is_drawn_over_the_colours_at_its_place():
    across = ContourLine("half way", np.array([[0.5, 1.5], [3.5, 1.5]]))
    cells = painted(heat([[0, 1, 5], [0, 1, 5]], contours=(across,)))
    letters = [set(line) for line in lines(cells)]
    assert letters[:2] + letters[4:] == [{"▀"}] * 4
    assert all(
        0x2800 < ord(letter) < 0x2900 for line in lines(cells)[2:4] for letter in line if letter != "▀"
    )
    drawn = (cells.glyphs > 0x2800) & (cells.glyphs < 0x2900)
    assert drawn.any(axis=0).all()
    assert (cells.back[drawn] < STEPS).all()
    expected = np.where(COLOURS.light[cells.back[drawn]], BLACK, WHITE)
    assert (cells.fore[drawn] == expected).all()
    assert set(expected.tolist()) == {BLACK, WHITE}


def test_contours_without_colour_have_separate_marks_and_names():
    lifted = np.array([[0.5, 1.2], [1.5, 1.2], [math.nan, math.nan], [2.5, 1.2], [3.5, 1.2]])
    heat_map = heat(
        contours=(
            ContourLine("first", np.array([[0.5, 1.9], [3.5, 1.9]])),
            ContourLine("second", lifted, "dashed"),
        )
    )
    text = lines(painted(heat_map, colours=None))
    assert any(line == "#" * 20 for line in text)
    assert any(line[:6] == "x" * 6 and line[-6:] == "x" * 6 and line[8:12].isdigit() for line in text)
    sheet_text = "\n".join(lines(compose(heat_map, 80, 24, None).cells))
    assert "# first" in sheet_text
    assert "x second" in sheet_text


def test_points_and_the_cursor_stand_in_their_cells():
    heat_map = heat(points=(MarkedPoint("here", 3.0, 1.0), MarkedPoint("outside", 9.0, 9.0, "o")))
    text = lines(painted(heat_map, cursor=(0, 1)))
    assert [(row, line.index("●")) for row, line in enumerate(text) if "●" in line] == [(4, 16)]
    assert [(row, line.index("╋")) for row, line in enumerate(text) if "╋" in line] == [(1, 3)]
    assert "o" not in "".join(text)


def test_a_character_shows_the_cell_at_its_centre():
    for seed in range(4):
        heat_map = random_heat(seed, (True, False, False))
        for row in range(6):
            for column in range(20):
                expected = (
                    nearest(heat_map.x, column / 19, True),
                    nearest(heat_map.y, (4 * (5 - row) + 1) / 22, False),
                )
                assert cell_under(heat_map, 20, 6, column, row) == expected
    assert cell_under(heat(), 20, 6, -5, 99) == (0, 0)
    assert cell_under(heat(), 20, 6, 99, -5) == (2, 1)


@pytest.mark.parametrize(
    ("value", "stderr", "text"),
    [
        (0.03412, 0.0021, "0.034 ± 0.002"),
        (21.3, 1.2, "21 ± 1"),
        (1234.5, 23.0, "1234 ± 23"),
        (1.5e-9, 2e-10, "1.5e-09 ± 2e-10"),
        (0.03412, math.nan, "0.0341"),
        (0.5, 0.0, "0.5"),
        (math.inf, 1.0, "infinite"),
        (-math.inf, math.nan, "minus infinity"),
    ],
)
def test_a_value_is_written_to_the_digit_of_its_error(value, stderr, text):
    assert with_error(value, stderr) == text


def test_a_reading_names_its_axes():
    heat_map = criticality()
    reading = read_cell(heat_map, 11, 9)
    assert reading.text == "depth 12, C_w 1.812: 0.31 ± 0.02"
    assert (reading.x, reading.y) == (12, heat_map.y[9])
    assert reading.z == pytest.approx((heat_map.y[9] / 2) ** 12)
    assert read_cell(heat_map, 49, 24).text == "depth 50, C_w 4: not computed yet"
    assert read_cell(heat(), 0, 0).text == "x 1, y 1: 0"


@pytest.mark.parametrize("colours", [COLOURS, None])
def test_a_heat_map_fills_every_size_exactly(colours):
    for width in (0, 1, 5, 12, 20, 43, 44, 80, 200):
        for height in (0, 1, 4, 8, 9, 14, 24, 60):
            sheet = compose(
                criticality(), width, height, colours, (3, 3), "a foot longer than narrow screens"
            )
            assert sheet.cells.glyphs.shape == sheet.cells.fore.shape == (height, width)
            assert sheet.left + sheet.columns <= width
            assert sheet.top + sheet.rows <= height


def test_a_wide_sheet_shows_the_scale_with_numbers_and_label_on_the_right():
    sheet = compose(criticality(), 80, 24, COLOURS)
    text = lines(sheet.cells)
    assert "┌─ C_w ─" in text[0]
    assert "─ Variance of the layers ─┐" in text[0]
    assert any("colour: layer variance" in line for line in text[-3:])
    right = [line[sheet.left + sheet.columns + 1 :] for line in text]
    assert [line[1:3] for line in right[sheet.top : sheet.top + sheet.rows]] == ["▀▀"] * sheet.rows
    numbers = [float(line[3:]) for line in right[sheet.top : sheet.top + sheet.rows] if line[3:].strip()]
    assert len(numbers) >= 3
    assert numbers == sorted(numbers, reverse=True)
    bar = sheet.cells.fore[sheet.top : sheet.top + sheet.rows, -7 - 1 : -1]
    steps = [int(row[row < STEPS][0]) for row in bar if (row < STEPS).any()]
    assert steps == sorted(steps, reverse=True)


def test_the_numbers_of_the_scale_stand_at_their_colours():
    heat_map = heat(np.linspace(0, 1, 60).reshape(6, 10))
    sheet = compose(heat_map, 80, 30, COLOURS)
    start = sheet.left + sheet.columns + 1
    for row, line in enumerate(lines(sheet.cells)):
        if sheet.top <= row < sheet.top + sheet.rows and (label := line[start + 3 :].strip()):
            step = sheet.cells.fore[row, start + 1], sheet.cells.back[row, start + 1]
            assert step[1] - 1 <= float(label) * STEPS <= step[0] + 1.5


def test_the_numbers_of_the_scale_are_never_cropped():
    rng = np.random.default_rng(0)
    for height in range(9, 34):
        low, width = rng.uniform(-2, 12), rng.uniform(0.2, 30)
        heat_map = heat(10.0 ** np.linspace(low, low + width, 6).reshape(2, 3), z_log=True)
        sheet = compose(heat_map, 80, height, COLOURS)
        labels = [line[sheet.left + sheet.columns + 4 :].strip() for line in lines(sheet.cells)]
        limits = value_scale(heat_map.z, True).limits
        wanted = [label for _, label in ticks(limits, True, min(9, max(2, sheet.rows // 3)))]
        shown = [text for text in labels[sheet.top : sheet.top + sheet.rows] if text]
        assert shown == wanted[::-1]


def test_a_narrow_sheet_shows_the_scale_below_between_its_end_values():
    text = lines(compose(heat(z_label="loss"), 36, 16, COLOURS).cells)
    assert any(line.startswith("0 ███") and line.endswith("███ 5") for line in text)
    assert any("colour: loss" in line for line in text)


def test_without_colour_the_scale_is_in_words_and_the_map_is_ascii():
    for size in ((80, 24), (120, 40), (200, 60), (36, 16)):
        cells = compose(criticality(), *size, None).cells
        text = "\n".join(lines(cells))
        assert "digits 0 to 9" in text
        assert "▀" not in text
        assert (cells.fore >= STEPS).all()
        assert to_ascii(text.replace("\n", " ")).isascii()
    sheet_text = "\n".join(lines(compose(criticality(), 80, 24, None).cells))
    assert "digits 0 to 9: layer variance from 7.89e-31 to 3.44e+12, logarithmic" in sheet_text


def matrix(**options) -> HeatMap:
    """Rows 1 … 40 of 100 columns, each entry its row."""
    rows = np.arange(1, 41)
    return HeatMap(
        np.arange(100), rows, np.repeat(rows[:, None], 100, 1), x_label="column", y_label="row", **options
    )


def test_y_may_increase_downwards():
    up, down = (compose(matrix(y_down=turned), 80, 30, COLOURS) for turned in (False, True))
    column = up.left
    above, below = (sheet.cells.fore[sheet.top, column] for sheet in (up, down))
    assert (above, below) == (STEPS - 1, 0), "the last row is on top, or the first"
    for sheet in (up, down):
        _, iy = cell_under(sheet.shown, sheet.columns, sheet.rows, 0, 0)
        assert sheet.shown.y[iy] == (1 if sheet is down else 40)


def test_unlit_rows_are_grey_or_dotted_and_explained_in_words():
    unlit = np.arange(1, 41) > 20
    heat = matrix(y_down=True, unlit=unlit, unlit_words="not seen yet")
    coloured, plain = (compose(heat, 80, 30, colours) for colours in (COLOURS, None))
    area = np.s_[coloured.top : coloured.top + coloured.rows, coloured.left]
    inks = coloured.cells.fore[area]
    assert (inks[: coloured.rows // 2 - 1] < STEPS).all()
    assert ((inks[coloured.rows // 2 + 1 :] >= STEPS) & (inks[coloured.rows // 2 + 1 :] < 2 * STEPS)).all()
    digits = "".join(map(chr, plain.cells.glyphs[plain.top : plain.top + plain.rows, plain.left]))
    assert digits[: plain.rows // 2 - 1].isdigit()
    assert set(digits[plain.rows // 2 + 1 :]) == {"·"}
    for sheet, words in ((coloured, "grey: not seen yet"), (plain, "··· not seen yet")):
        assert words in "".join(map(chr, sheet.cells.glyphs.flatten()))
    assert read_cell(heat, 0, 30).text.endswith("not seen yet")
    assert not read_cell(heat, 0, 3).text.endswith("not seen yet")


def test_a_map_without_room_shows_and_names_the_cells_around_its_focus():
    sheet = compose(matrix(y_down=True, focus=(90, 35), full_size=(100, 40)), 60, 14, COLOURS, foot="")
    shown = sheet.shown
    assert len(shown.x) <= sheet.columns
    assert shown.x[-1] == 99
    assert shown.y[0] <= 35 <= shown.y[-1]
    assert (shown.z == shown.y[:, None]).all()
    assert (sheet.first[0], sheet.first[1]) == (shown.x[0], shown.y[0] - 1)
    foot = "".join(map(chr, sheet.cells.glyphs[-1]))
    assert f"in sight: column {shown.x[0]:g} to 99 of 100, row {shown.y[0]:g} to" in foot
    cut = compose(
        matrix(y_down=True, focus=(90, 35), full_size=(100, 40)), 60, 14, COLOURS, foot="arrow keys: values"
    )
    assert "".join(map(chr, cut.cells.glyphs[-1])) == foot, "what has no room is left out as a whole"


def test_visible_marked_columns_are_marked_on_the_frame():
    heat = matrix(columns=(Column("the target", 37),))
    sheet = compose(heat, 80, 24, COLOURS)
    frame = (sheet.top - 1, "▼"), (sheet.top + sheet.rows, "▲")
    columns = [
        np.flatnonzero(sheet.cells.glyphs[row] == ord(mark)).item() - sheet.left for row, mark in frame
    ]
    assert columns[0] == columns[1]
    assert cell_under(sheet.shown, sheet.columns, sheet.rows, columns[0], 0)[0] in (36, 37, 38)
    assert "▼ the target" in "".join(map(chr, sheet.cells.glyphs.flatten()))


def test_rows_can_have_names_instead_of_numbers():
    heat = HeatMap(np.arange(3), np.arange(2), np.zeros((2, 3)), y_names=("A GD", "B EGU"), y_down=True)
    sheet = compose(heat, 60, 12, COLOURS)
    lines = ["".join(map(chr, line)) for line in sheet.cells.glyphs]
    named = [line[: sheet.left - 1].strip() for line in lines if line[: sheet.left - 1].strip(" y")]
    assert named[:2] == ["A GD", "B EGU"]
    assert read_cell(heat, 1, 1).text.startswith("x 1, y B EGU")
