"""The words above and below a chart: its title, and what its axes are."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes

_APART = 2
_TITLE_HEIGHT, _LABEL_HEIGHT = 7, 10  # the least at which each is worth its line
_ROOMY = 13  # from here on a label may have a line of its own, and a title two
_LEAST = 10  # a label that is cut has so many cells
_UP = "↑ "  # before the label of y where that of x stands beside it


class Heading(NamedTuple):
    """Lines above a chart, and the one below it, empty if there is none; none is wider than the chart."""

    above: tuple[str, ...] = ()
    below: str = ""


class Labels(NamedTuple):
    """What a chart says of itself and of its axes; nothing for a label that would repeat the title."""

    title: str
    x: str
    y: str


def labels(axes: Axes) -> Labels:
    """The words around a chart, each on one line."""
    title, x, y = (" ".join(text.split()) for text in (axes.title, axes.x_label, axes.y_label))
    x = f"← {x}, falling" if axes.x_falls and x else x
    return Labels(title, x, "" if y.casefold() == title.casefold() else y)


def heading(axes: Axes, width: int, height: int, centre: int) -> Heading:
    """The words around a chart of width × height cells: the title goes before the label of y.

    They share a line where both have room there. Else the label has one of its own, or is beside that of x,
    or is cut. A label that is the title is not repeated.

    Args:
        centre: the column that the title and the label of x stand around, where they can.
    """
    title, x_label, y_label = labels(axes)
    above: tuple[str, ...] = ()
    if height >= _TITLE_HEIGHT and title:
        above, labelled = _above(title, y_label, width, height, centre)
        y_label = "" if labelled else y_label
    if height < _LABEL_HEIGHT:
        return Heading(above)
    x_label = elided(x_label, width)
    y_label = f"{_UP}{y_label}" if x_label and y_label else y_label
    room = width - (cell_len(x_label) + _APART if x_label else 0)
    y_label = elided(y_label, room) if room >= min(_LEAST, cell_len(y_label)) else ""
    return Heading(above, _line(y_label, x_label, width, centre) or "")


def _above(title: str, y_label: str, width: int, height: int, centre: int) -> tuple[tuple[str, ...], bool]:
    """The lines above a chart, and whether they say what y is."""
    if (both := _line(y_label, title, width, centre)) is not None:
        return (both,), True
    if height >= _ROOMY:
        first, *more = wrap(title, width)
        lines = [first, elided(" ".join(more), width)] if more else [first]
        return (*(_centred(line, width, centre) for line in lines), elided(y_label, width)), True
    alone = _centred(title, width, centre)
    room = width - cell_len(title) - _APART
    if height >= _LABEL_HEIGHT or room < _LEAST:
        return (alone,), height < _LABEL_HEIGHT
    return (_line(elided(y_label, room), title, width, centre) or alone,), True


def _centred(text: str, width: int, centre: int) -> str:
    """A text alone on its line."""
    return _line("", elided(text, width), width, centre) or ""


def _line(left: str, text: str, width: int, centre: int) -> str | None:
    """A text around the centre, moved as far as it must be for what stands at the left; None without room."""
    least = cell_len(left) + _APART if left else 0
    start = max(min(centre - cell_len(text) // 2, width - cell_len(text)), least)
    if start + cell_len(text) > width and text:
        return None
    return (set_cell_size(left, start) + text).rstrip() if text else left


def elided(text: str, room: int) -> str:
    """The text within `room` cells, its end replaced by an ellipsis where it is too long."""
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, room - 1).rstrip() + "…" if room > 3 else ""
