"""Words on the frame of a chart: y label and title on the upper border, x label among the ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes

BORDER = "─"
_APART = 2
_LEAST = 6  # a word that is cut keeps this many cells
_ENDS = 4  # a border and a blank at either end of the upper line


class TopLine(NamedTuple):
    """The upper border between its corners, and the cells of the title in it."""

    text: str = ""
    title: range = range(0)


class TickLine(NamedTuple):
    """The line below a chart, and the ticks whose labels it shows, by column of the plot area."""

    text: str = ""
    ticks: tuple[tuple[int, str], ...] = ()


class Labels(NamedTuple):
    """What a chart says of itself and of its axes; nothing for a label that would repeat the title."""

    title: str
    x: str
    y: str


def labels(axes: Axes) -> Labels:
    """Return the words around a chart, each on one line."""
    title, x, y = (" ".join(text.split()) for text in (axes.title, axes.x_label, axes.y_label))
    x = f"← {x}, falling" if axes.x_falls and x else x
    return Labels(title, x, "" if y.casefold() == title.casefold() else y)


def top_line(axes: Axes, columns: int) -> TopLine:
    """Return the upper border of a chart: the y label at its left, the title at its right.

    A label that equals the title is not repeated. If both do not fit, the title is cut, or left out if less
    than half of it fits: the headline also has the title, and nothing else has the unit of y.
    """
    title, _, y_label = labels(axes)
    room = columns - _ENDS
    y_label = elided(y_label, room)
    room -= cell_len(y_label) + (_APART + 1 if y_label else 0)
    title = elided(title, room) if 2 * room >= cell_len(title) else ""
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
    """Return the labels of ticks and of the x-axis, which stands behind the last tick, or replaces others.

    Args:
        ticks: columns of the plot area with their labels, from left to right.
        margin: cells before the plot area.
    """
    width = margin + columns + 1
    starts = [
        min(max(margin + place - (len(label) - 1) // 2, 0), width - len(label)) for place, label in ticks
    ]
    ends = [start + len(label) for start, (_, label) in zip(starts, ticks, strict=True)]
    name = labels(axes).x
    begin, end = (ends[-1] + _APART if ticks else 0), width
    if len(ticks) > 1 and end - begin < cell_len(name):
        begin, end = ends[0] + _APART, starts[-1] - _APART
    name = elided(name, end - begin)
    start = end - cell_len(name)
    shown = [
        number
        for number in range(len(ticks))
        if not name or ends[number] + _APART <= start or starts[number] >= end
    ]
    line = ""
    for place, word in sorted([*((starts[number], ticks[number][1]) for number in shown), (start, name)]):
        line = set_cell_size(line, place) + word
    return TickLine(set_cell_size(line, width), tuple(ticks[number] for number in shown))


def elided(text: str, room: int) -> str:
    """Return the text within `room` cells, ending in an ellipsis if it is cut; empty if too little fits."""
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, room - 1).rstrip() + "…" if room >= _LEAST else ""
