"""Frame of a chart: axes and ticks, drawn by plotext, and the texts on the border and beside the ticks."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from rich.cells import cell_len, set_cell_size

from hadamard_tui.charts.drawing.raster import DOTS_ACROSS, DOTS_DOWN, elided
from hadamard_tui.charts.scales import Scale, Tick, ticks, x_ticks

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes


BORDER = "─"
_APART = 2
_LEAST = 6  # minimum number of cells of a shortened text
_ENDS = 4  # a border and a blank at both ends of the upper line


class TopLine(NamedTuple):
    """Text of the upper border of a chart, without corners, and the cells that contain the title."""

    text: str = ""
    title: range = range(0)


class TickLine(NamedTuple):
    """Line of text with the tick labels below a chart, and the ticks whose labels it contains.

    The ticks are pairs of a column of the plot area and a label.
    """

    text: str = ""
    ticks: tuple[tuple[int, str], ...] = ()


class Labels(NamedTuple):
    """Title and axis labels of a chart. The label of y is empty if it would repeat the title."""

    title: str
    x: str
    y: str


def labels(axes: Axes) -> Labels:
    title, x, y = (" ".join(text.split()) for text in (axes.title, axes.x_label, axes.y_label))
    x = f"← {x}, falling" if axes.x_falls and x else x
    return Labels(title, x, "" if y.casefold() == title.casefold() else y)


def top_line(axes: Axes, columns: int) -> TopLine:
    """Return the upper border of a chart: the y label at its left, the title at its right.

    If they do not both fit, the title is cut, or omitted if less than half of it fits. The label takes
    precedence: the title is also in the headline, but the unit of y is shown nowhere else.
    """
    title, _, y_label = labels(axes)
    room = columns - _ENDS
    y_label = _elided_label(y_label, room)
    room -= cell_len(y_label) + (_APART + 1 if y_label else 0)
    title = _elided_label(title, room) if 2 * room >= cell_len(title) else ""
    label, heading = (f"{BORDER} {word} " if word else "" for word in (y_label, title))
    if not y_label:
        text = heading.ljust(columns, BORDER)[:columns]
        return TopLine(text, range(2, 2 + cell_len(title)))
    filler = BORDER * (columns - cell_len(label) - cell_len(title) - (3 if title else 0))
    start = columns - 2 - cell_len(title)
    return TopLine(
        f"{label}{filler} {title} {BORDER}" if title else label + filler, range(start, columns - 2)
    )


def tick_line(axes: Axes, ticks: Sequence[tuple[int, str]], margin: int, columns: int) -> TickLine:
    """Return the line below a chart, with the tick labels and the label of x.

    The label of x comes after the last tick. If there is no room there, the label of x replaces some tick
    labels between the first and the last.

    Args:
        ticks: pairs of a column of the plot area and a tick label, from left to right.
        margin: number of cells left of the plot area.
    """
    width = margin + columns + 1
    starts = [
        min(max(margin + place - (len(label) - 1) // 2, 0), width - len(label)) for place, label in ticks
    ]
    ends = [start + len(label) for start, (_, label) in zip(starts, ticks, strict=True)]
    x_label = labels(axes).x
    begin, end = (ends[-1] + _APART if ticks else 0), width
    if len(ticks) > 1 and end - begin < cell_len(x_label):
        begin, end = ends[0] + _APART, starts[-1] - _APART
    x_label = _elided_label(x_label, end - begin)
    start = end - cell_len(x_label)
    shown = [
        number
        for number in range(len(ticks))
        if not x_label or ends[number] + _APART <= start or starts[number] >= end
    ]
    line = ""
    for place, word in sorted([*((starts[number], ticks[number][1]) for number in shown), (start, x_label)]):
        line = set_cell_size(line, place) + word
    return TickLine(set_cell_size(line, width), tuple(ticks[number] for number in shown))


def _elided_label(text: str, room: int) -> str:
    return elided(text, room) if room >= min(_LEAST, cell_len(text)) else ""


# plotext has only one figure per process, so only one thread at a time may draw.
_plotext = threading.Lock()
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

# Minimum sizes of a chart in cells at which the box and the ticks are drawn.
_BOX = (10, 4)
_TICK_HEIGHT = 6
_ROWS_PER_TICK, _MOST_Y_TICKS, _MOST_X_TICKS = 3, 9, 11
_LEAST_Y_TICKS, _ROWS_WITH_LEAST = 3, 7  # minimum number of y ticks, if there are so many rows
_NO_LABELS_BELOW = 3  # y labels may take a third of the width
_WIDEST_NAME = 6  # names of rows, instead of y labels, may take a sixth of the width


class FrameLayout(msgspec.Struct, frozen=True):
    """Layout of a frame of width × height cells around a chart: its border, its ticks and the plot area.

    `left` and `top` are the column and the row in which the plot area begins.
    """

    width: int
    height: int
    left: int
    top: int
    columns: int
    rows: int
    boxed: bool
    top_line: TopLine
    tick_line: TickLine  # empty if ticks do not fit
    y_ticks: tuple[tuple[int, str], ...]  # pairs of a row (0 is the lowest) and a label


class Layer(msgspec.Struct, frozen=True):
    """Cells that plotext draws into the plot area. Rows are counted from the bottom."""

    columns: Sequence[int]
    rows: Sequence[int]
    markers: Sequence[str]
    colour: tuple[int, int, int]


class Frame(msgspec.Struct, frozen=True):
    """Frame as text, with blanks in the plot area.

    The first cell of the plot area is in column `left` and row `top`. `title` is the range of cells that the
    title takes in the first line.
    """

    lines: tuple[str, ...]
    left: int
    top: int
    columns: int
    rows: int
    title: range


@lru_cache(maxsize=16)
def frame(axes: Axes, width: int, height: int, dots: tuple[int, int] = (DOTS_ACROSS, DOTS_DOWN)) -> Frame:
    """Return the frame of a chart. Its ticks agree with the curves that `raster.paint_series` paints.

    Args:
        dots: numbers of dots per cell, across and down.
    """
    layout = arrange(axes, width, height, dots)
    lines = tuple(set_cell_size(line, width) for line in uncoloured(draw(layout)).split("\n")[:height])
    title = range(layout.top_line.title.start + layout.left, layout.top_line.title.stop + layout.left)
    return Frame(lines, layout.left, layout.top, layout.columns, layout.rows, title)


def arrange(axes: Axes, width: int, height: int, dots: tuple[int, int]) -> FrameLayout:
    """Return the layout of a frame: the parts that fit into width × height cells, and the places of ticks.

    Args:
        dots: numbers of dots per cell, across and down.
    """
    width, height = max(width, 0), max(height, 0)
    if width < _BOX[0] or height < _BOX[1]:
        return FrameLayout(width, height, 0, 0, width, height, False, TopLine(), TickLine(), ())
    ticked = height >= _TICK_HEIGHT
    rows = height - 2 - ticked
    up = Scale(axes.y_limits, axes.y_log, rows * dots[1])
    numbered = ticks_up(axes, rows) if ticked else ()
    y_ticks = _named_ticks(axes, up, dots[1], width) if axes.y_names and ticked else numbered
    margin = max((len(label) for _, label in y_ticks), default=0)
    if margin > width // _NO_LABELS_BELOW:
        y_ticks, margin = (), 0
    columns = width - 2 - margin
    along = Scale(axes.x_limits, axes.x_log, columns * dots[0])
    x_ticks = tuple(
        (slot // dots[0], label)
        for value, label in ticks_along(axes, columns, dots[0])
        if (slot := along.slot(value)) is not None
    )
    return FrameLayout(
        width=width,
        height=height,
        left=margin + 1,
        top=1,
        columns=columns,
        rows=rows,
        boxed=True,
        top_line=top_line(axes, columns),
        tick_line=tick_line(axes, x_ticks, margin + 1, columns) if ticked else TickLine(),
        y_ticks=tuple(
            (rows - 1 - slot // dots[1] if axes.y_down else slot // dots[1], label)
            for value, label in y_ticks
            if (slot := up.slot(value)) is not None
        ),
    )


def draw(layout: FrameLayout, layers: Sequence[Layer] = ()) -> str:
    """Draw a frame and layers of cells with plotext, and return `height` lines with colour codes."""
    if not layout.boxed:
        return "\n".join([" " * layout.width] * layout.height)
    import plotext as plt  # imported here, because its import takes time and most commands do not need it

    with _plotext:
        plt.clear_figure()
        plt.clear_color()
        plt.limit_size(False, False)
        plt.plot_size(layout.width, layout.height)
        # The units are cells, not data units, so that plotext's axes stay linear and ticks agree with the
        # curves.
        plt.xlim(0, max(layout.columns - 1, 1))
        plt.ylim(0, max(layout.rows - 1, 1))
        plt.xticks(
            [place for place, _ in layout.tick_line.ticks], [label for _, label in layout.tick_line.ticks]
        )
        plt.yticks([place for place, _ in layout.y_ticks], [label for _, label in layout.y_ticks])
        plt.scatter([-1], [-1], marker=" ")  # invisible, because plotext draws no ticks without data
        for layer in layers:
            plt.scatter(list(layer.columns), list(layer.rows), marker=list(layer.markers), color=layer.colour)
        drawn: str = plt.build()
        plt.clear_figure()
    _, *lines = drawn.rstrip("\n").split("\n")
    if layout.tick_line.text:
        lines[-1:] = [layout.tick_line.text] if layout.tick_line.ticks else [lines[-1], layout.tick_line.text]
    return "\n".join([f"{' ' * (layout.left - 1)}┌{layout.top_line.text}┐", *lines])


def uncoloured(text: str) -> str:
    return _ESCAPE.sub("", text)


def ticks_up(axes: Axes, rows: int) -> tuple[Tick, ...]:
    tick_limit = min(_MOST_Y_TICKS, max(2, rows // _ROWS_PER_TICK))
    least = _LEAST_Y_TICKS if rows >= _ROWS_WITH_LEAST else 0
    for count in range(tick_limit, max(tick_limit, (rows + 1) // 2) + 1):
        y_ticks = ticks(axes.y_limits, axes.y_log, count, axes.y_whole, least)
        if len(y_ticks) >= least:
            return y_ticks
    return ticks(axes.y_limits, axes.y_log, tick_limit, axes.y_whole)


def _named_ticks(axes: Axes, up: Scale, dots: int, width: int) -> tuple[Tick, ...]:
    """Return ticks with the names of rows, such as names of learners, for a y-axis without numbers.

    Only names inside the visible part of the axis have ticks. If several names share a row of cells, only the
    first name has a tick.
    """
    named_ticks: list[Tick] = []
    last = None
    for y, row_name in enumerate(axes.y_names):
        slot = up.slot(y)
        if slot is not None and slot // dots != last:
            last = slot // dots
            named_ticks.append((float(y), _elided_label(row_name, width // _WIDEST_NAME)))
    return tuple(named_ticks)


def ticks_along(axes: Axes, columns: int, dots_across: int = DOTS_ACROSS) -> tuple[Tick, ...]:
    """Return ticks of the x-axis: as many as fit with at least two blank cells between their labels.

    Named x values at uneven distances have a tick wherever a label fits, if these are more ticks than at
    every second named value, or at every third, and so on.
    """
    across = Scale(axes.x_limits, axes.x_log, columns * dots_across)
    most_ticks = min(_MOST_X_TICKS, columns // 4)
    placed: list[tuple[int, Tick]] = []
    for tick_limit in range(most_ticks, 0, -1):
        placed = _placed_ticks(x_ticks(axes, tick_limit), across, dots_across)
        if _are_apart(placed, columns):
            break
    else:
        placed = []
    fitting: list[tuple[int, Tick]] = []
    named = _placed_ticks(axes.x_names, across, dots_across)
    for tick in named if _is_uneven([column for column, _ in named]) else ():
        if len(fitting) < most_ticks and _are_apart([*fitting, tick], columns):
            fitting.append(tick)
    return tuple(tick for _, tick in max(placed, fitting, key=len))


def _placed_ticks(chosen: Sequence[Tick], across: Scale, dots_across: int) -> list[tuple[int, Tick]]:
    """Return the ticks within the limits of the x-axis, each with its column."""
    slots = ((across.slot(value), (value, label)) for value, label in chosen)
    return [(slot // dots_across, tick) for slot, tick in slots if slot is not None]


def _is_uneven(columns: Sequence[int]) -> bool:
    """Return whether one distance between neighbours is more than twice another."""
    gaps = [next_column - column for column, next_column in pairwise(columns)]
    return bool(gaps) and max(gaps) > 2 * min(gaps)


def _are_apart(placed: Sequence[tuple[int, Tick]], columns: int) -> bool:
    starts = [min(max(place - len(label) // 2, 0), columns - len(label)) for place, (_, label) in placed]
    ends = [start + len(label) for start, (_, (_, label)) in zip(starts, placed, strict=True)]
    return (
        all(end + 2 <= start for end, start in zip(ends, starts[1:], strict=False))
        and min(starts, default=0) >= 0
    )
