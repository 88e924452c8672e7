"""Where the names of lines have room in a picture, near their ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.patterns import is_line
from hadamard_tui.charts.series import Series
from hadamard_tui.charts.spans import Spans

_BACK, _STEP = 0.5, 2
"""From the end of a line back to here, as a share of what is shown of it, and so many cells at a time."""

_FAR = 2
"""So many rows above or below its line a name may stand."""

_MOST = 2
"""So many of the lines that run along each other are named there; the legend names them all."""

_WIDEST = 1 / 3
"""Of the width of the picture; longer names have no room."""


class NameAt(NamedTuple):
    """The name of a series (its position) from a cell on."""

    at: int
    row: int
    column: int
    name: str


def line_names(
    series: Sequence[Series],
    lines: Spans,
    groups: Sequence[tuple[int, ...]],
    taken: np.ndarray,
    across: int,
    down: int,
) -> list[NameAt]:
    """A place for the name of every line without a mark that has one: right-aligned, the last that is free.

    Args:
        groups: the positions of series that run along each other.
        taken: which cells are not free, bool [rows, columns]; none is where a name is put.
        across, down: how many dots a cell has.
    """
    rows, columns = taken.shape
    taken = taken.copy()
    found: list[NameAt] = []
    group_of = {index: group for group in groups for index in group}
    for index, one in enumerate(series):
        if not one.name or not is_line(one):
            continue
        if sum(other.at in group_of.get(index, ()) for other in found) == _MOST:
            continue
        length, shown = cell_len(one.name), np.flatnonzero(lines.shown[index])
        if not len(shown) or length > _WIDEST * columns:
            continue
        centre = lines.centre[index] // down
        for row, column in _places(centre, shown, length, across):
            around = taken[row : row + 1, max(column - 1, 0) : column + length + 1]
            if 0 <= row < rows and 0 <= column <= columns - length and not around.any():
                taken[row, column : column + length] = True
                found.append(NameAt(index, row, column, one.name))
                break
    return found


def _places(centre: np.ndarray, shown: np.ndarray, length: int, across: int) -> Iterator[tuple[int, int]]:
    """Where a name may begin, the best first: behind the end of the line, else above or below it."""
    yield int(centre[shown[-1]]), int(shown[-1]) // across + 2
    for dot in shown[: int(len(shown) * _BACK) : -1][:: _STEP * across]:
        for far in range(1, _FAR + 1):
            for row in (centre[dot] - far, centre[dot] + far):
                yield int(row), int(dot) // across - length + 1
