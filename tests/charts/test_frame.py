import subprocess
import sys

import pytest
from rich.cells import cell_len

from hadamard_tui.charts.drawing.frame import frame
from hadamard_tui.charts.drawing.raster import paint_series
from hadamard_tui.charts.series import Axes

from .pictures import curve

LOSS = Axes("Square loss", "examples k", "loss", (0, 128), (0, 1))
LOG = Axes("数学の損失", "η", "loss", (1e-4, 1), (1e-6, 10), x_log=True, y_log=True)


@pytest.mark.parametrize("axes", [LOSS, LOG, Axes("", "", "", (-1, 1), (1e-9, 2e-9))])
def test_a_frame_has_exactly_the_requested_cells(axes):
    for width in (*range(1, 24), 40, 80, 200):
        for height in (*range(1, 13), 24, 60):
            framed = frame(axes, width, height)
            assert [cell_len(line) for line in framed.lines] == [width] * height
            assert framed.left + framed.columns <= width
            assert framed.top + framed.rows <= height
            assert framed.columns > 0
            assert framed.rows > 0


def test_the_plot_area_is_blank_and_enclosed():
    framed = frame(LOSS, 80, 24)
    inside = framed.lines[framed.top : framed.top + framed.rows]
    assert {line[framed.left : framed.left + framed.columns] for line in inside} == {" " * framed.columns}
    assert {line[framed.left - 1] for line in inside} <= {"│", "┤"}
    assert {line[framed.left + framed.columns] for line in inside} == {"│"}
    assert framed.lines[framed.top - 1][framed.left - 1] == "┌"
    assert framed.lines[framed.top + framed.rows][framed.left + framed.columns] == "┘"


def test_a_frame_shows_y_label_and_title_above_and_x_label_below():
    surround = frame(LOSS, 80, 24)
    assert surround.lines[0].startswith("   ┌─ loss ──")
    assert surround.lines[0].endswith("── Square loss ─┐")
    assert surround.lines[0][surround.title.start : surround.title.stop] == "Square loss"
    assert surround.lines[-1].endswith("  examples k  128")


LONG = "examples k until the average square loss is below 0.1"


def test_a_title_without_room_is_cut_or_omitted():
    assert "t" * 50 in frame(Axes("t" * 50, "k", LONG, (0, 1), (0, 1)), 120, 24).lines[0]
    line = frame(Axes("t" * 60, "k", LONG, (0, 1), (0, 1)), 120, 24).lines[0]
    assert LONG in line
    assert line.endswith("tt… ─┐")
    line = frame(Axes("t" * 60, "k", LONG, (0, 1), (0, 1)), 80, 24).lines[0]
    assert LONG in line
    assert "t" * 10 not in line


@pytest.mark.parametrize("size", [(80, 24), (60, 11), (60, 9)])
def test_a_label_equal_to_the_title_is_not_repeated(size):
    lines = frame(Axes("Excess risk", "k", "excess risk", (0, 1), (0, 1)), *size).lines
    assert "\n".join(lines).casefold().count("excess risk") == 1


@pytest.mark.parametrize("width", range(19, 60, 5))
def test_the_label_of_x_never_touches_a_number(width):
    line = frame(LOSS, width, 12).lines[-1]
    assert "0" in line
    assert line.rstrip().endswith("128")
    if "ex" in line:
        before, behind = line.split("ex")[0], line.split("128")[0]
        assert before.endswith("  ")
        assert behind.endswith("  ")


@pytest.mark.parametrize(
    ("log", "rows"), [*((False, rows) for rows in range(9, 30)), *((True, rows) for rows in range(7, 30))]
)
@pytest.mark.parametrize(
    "limits", [(0.0121, 0.988), (0.16, 1.34), (0.3, 2.0), (1.0, 128.0), (0.97, 1.03), (2.1, 2.9)]
)
@pytest.mark.slow
def test_the_y_axis_has_three_numbers_on_nine_rows_or_seven_log_rows(limits, log, rows):
    surround = frame(Axes("", "k", "loss", (0, 1), limits, y_log=log), 80, rows + 3)
    assert surround.rows == rows
    labels = [line[: surround.left - 1].strip() for line in surround.lines[1 : 1 + rows]]
    assert len({label for label in labels if label}) >= 3


def test_an_arrow_marks_an_x_axis_that_falls_in_time():
    lines = frame(Axes("", "loss", "norm", (0, 1), (0, 1), x_falls=True), 60, 20).lines
    assert "← loss, falling" in lines[-1]


def test_small_frames_omit_ticks_and_keep_the_border():
    assert "examples k  128" in frame(LOSS, 80, 6).lines[-1]
    assert "Square loss" in frame(LOSS, 80, 6).lines[0]
    assert "128" not in "".join(frame(LOSS, 80, 5).lines)


def test_log_axes_have_decade_labels():
    text = "\n".join(frame(LOG, 80, 30).lines)
    for label in ("1e-4", "0.001", "0.01", "0.1", "1", "10"):
        assert label in text


@pytest.mark.parametrize("axes", [LOSS, LOG])
def test_ticks_stand_at_the_painted_positions_of_their_values(axes):
    framed = frame(axes, 80, 24)
    ticked = [row for row, line in enumerate(framed.lines) if line[framed.left - 1] == "┤"]
    assert len(ticked) > 2
    for row in ticked:
        height = float(framed.lines[row][: framed.left - 1])
        picture = paint_series([curve([height], [axes.x_limits[1]])], axes, framed.columns, framed.rows)
        assert picture.colours[row - framed.top, -1] == 0
    below = framed.lines[framed.top + framed.rows]
    places = [column - framed.left for column, letter in enumerate(below) if letter == "┬"]
    line = framed.lines[framed.top + framed.rows + 1].replace(axes.x_label, "")
    tick_values = [float(label) for label in line.split()]
    for place, height in zip(places, tick_values, strict=True):
        picture = paint_series([curve([axes.y_limits[0]], [height])], axes, framed.columns, framed.rows)
        assert picture.colours[-1, place] == 0


def test_repeated_frames_come_from_the_cache():
    assert frame(LOSS, 77, 23) is frame(LOSS, 77, 23)


@pytest.mark.slow
def test_importing_the_charts_loads_neither_plotext_nor_textual():
    code = (
        "import sys; from hadamard_tui.charts.drawing import chart_sheet, frame, raster;"
        "import hadamard_tui.headless.pictures, hadamard_tui.charts.plots.view_plot;"
        "print({'plotext', 'textual', 'torch', 'matplotlib', 'contourpy'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
