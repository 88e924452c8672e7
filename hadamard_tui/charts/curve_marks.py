"""Place the letters of curves: at their ends, and at their points if these are few."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hadamard_tui.charts.left_out import beyond
from hadamard_tui.charts.scale import Scale

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Series
    from hadamard_tui.charts.spans import Spans

FEW = 8
"""Most points in sight of a curve that has its letter at each point."""

ABOVE, BELOW = "↑", "↓"
"""Arrows before the letter of a curve at the edge of the chart where the curve leaves it."""

_ROOM = 3  # cells at least between those
_MARK_PERIOD, _MARK_ROOM = 24, 6  # cells from one letter of a curve to its next, and to that of another curve


class MarkAt(NamedTuple):
    """The letter of a series (its position) in a cell."""

    at: int
    row: int
    column: int


class EdgeMark(NamedTuple):
    """An arrow and the letter of a series (its position), from a cell at the edge of the chart on."""

    at: int
    row: int
    column: int
    text: str


def curve_marks(
    series: Sequence[Series],
    axes: Axes,
    lines: Spans,
    groups: Sequence[tuple[int, ...]],
    shape: tuple[int, int],
    across: int,
    down: int,
) -> list[MarkAt]:
    """Place the letters of the series, so that curves can be told apart without colour.

    A letter stands at the end of its curve, or left of there if the cell is taken. A curve with few points
    has its letter at each of them, and others at intervals, each at columns of its own. Letters have a blank
    cell between them where there is room, so that they do not read as a word.

    Args:
        groups: the positions of series of which only the first is drawn.
        shape: the rows and columns of the picture.
        across, down: how many dots a cell has.
    """
    rows, columns = shape
    cells = lines.centre // down * columns + np.arange(lines.centre.shape[1]) // across
    for lead, *followers in groups:
        cells[followers] = np.where(lines.shown[lead], cells[lead], cells[followers])
    point_columns = [_data(curve, axes, lines.shown[at], across) for at, curve in enumerate(series)]
    free = np.ones((2, rows * columns), dtype=bool)  # of letters; of letters and their neighbours
    marks: list[MarkAt] = []

    def put(index: int, cell: int) -> None:
        row, column = divmod(cell, columns)
        free[0, cell] = False
        free[1, row * columns + max(column - 1, 0) : row * columns + min(column + 2, columns)] = False
        marks.append(MarkAt(index, row, column))

    def put_last(index: int, places: np.ndarray) -> bool:
        choice = cells[index, places]
        apart = choice[free[1, choice]]
        choice = apart if apart.size else choice[free[0, choice]]
        if choice.size:
            put(index, int(choice[-1]))
        return bool(choice.size)

    marked = [index for index, curve in enumerate(series) if curve.mark]
    for index in marked:
        if not (len(point_columns[index]) and put_last(index, point_columns[index])):
            put_last(index, np.flatnonzero(lines.shown[index]))
    for turn in range(FEW):  # curves that run along each other take their common points by turns
        for index in marked:
            if turn < len(point_columns[index]):
                choice = cells[index, point_columns[index]]
                choice = choice[free[0, choice]]
                if choice.size:
                    put(index, int(choice[-1]))
    for turn, index in enumerate(marked, start=1):
        if len(point_columns[index]):
            continue
        for column in range(turn * _MARK_ROOM, columns, max(_MARK_PERIOD, _MARK_ROOM * len(marked))):
            cell = cells[index, column * across]
            if lines.shown[index, column * across] and free[1, cell]:
                put(index, int(cell))
    return marks


def edge_marks(
    series: Sequence[Series], axes: Axes, shape: tuple[int, int], letters: Collection[MarkAt] = ()
) -> Iterator[EdgeMark]:
    """Yield a mark for each stretch of a curve above or below the chart.

    Args:
        shape: the rows and columns of the picture.
        letters: letters of curves, which keep their cells.
    """
    rows, columns = shape
    across = Scale(axes.x_limits, axes.x_log, columns)
    taken_cells = {(letter.row, letter.column) for letter in letters}
    for index, curve in enumerate(series):
        if not curve.mark or curve.faint:
            continue
        for arrow, row, is_beyond in zip((ABOVE, BELOW), (0, rows - 1), beyond(curve, axes), strict=True):
            for column in _stretches(curve.x, is_beyond, across):
                cells = {(row, column), (row, column + 1)}
                if taken_cells.isdisjoint(cells):
                    taken_cells |= cells
                    yield EdgeMark(index, row, column, f"{arrow}{curve.mark}")


def _stretches(x: np.ndarray, chosen: np.ndarray, across: Scale) -> list[int]:
    """Yield the first cell of each stretch of chosen points, leaving out stretches close to the one before.

    Each cell has another cell to its right.
    """
    order = np.argsort(x, kind="stable")
    starts = order[chosen[order] & ~np.concatenate([[False], chosen[order][:-1]])]
    cells = np.floor(across.place(x[starts]) + 0.5).astype(int).clip(0, max(across.size - 2, 0))
    return [int(cell) for cell in cells[np.diff(cells, prepend=-_MARK_ROOM) >= _MARK_ROOM]]


def zeros(series: Sequence[Series], axes: Axes, rows: int, columns: int) -> Iterator[MarkAt]:
    """Yield marks at the foot of a log axis where curves with separate points are 0 up to rounding."""
    across = Scale(axes.x_limits, axes.x_log, columns)
    for index, curve in enumerate(series):
        for column in np.floor(across.place(zeros_of(curve, axes, columns)) + 0.5).astype(int).tolist():
            yield MarkAt(index, rows - 1, column)


def zeros_of(curve: Series, axes: Axes, columns: int) -> np.ndarray:
    """Return the x where a curve with separate points is 0 up to rounding, on a logarithmic y-axis.

    Args:
        columns: width of the chart in cells.
    """
    if not (axes.y_log and curve.mark):
        return np.empty(0)
    in_sight = np.isfinite(curve.y) & (curve.x >= axes.x_limits[0]) & (curve.x <= axes.x_limits[1])
    places = np.floor(Scale(axes.x_limits, axes.x_log, columns).place(curve.x[in_sight]) + 0.5)
    if (np.abs(np.diff(places)) < _ROOM).any():
        return np.empty(0)
    zero_places: np.ndarray = curve.x[in_sight][np.abs(curve.y[in_sight]) <= axes.y_rounding]
    return zero_places


def _data(curve: Series, axes: Axes, shown: np.ndarray, across: int) -> np.ndarray:
    """Return the dot columns of a series' points, increasing; none if they are many, or too dense."""
    in_sight = np.isfinite(curve.y) & (curve.x >= axes.x_limits[0]) & (curve.x <= axes.x_limits[1])
    if axes.y_log:
        in_sight &= curve.y > axes.y_rounding
    if not 0 < np.count_nonzero(in_sight) <= FEW:
        return np.empty(0, dtype=int)
    places = Scale(axes.x_limits, axes.x_log, len(shown)).place(curve.x[in_sight])
    columns = np.sort(np.floor(places + 0.5).clip(0, len(shown) - 1)).astype(int)
    if (np.diff(columns) < _ROOM * across).any():
        return np.empty(0, dtype=int)
    return np.asarray(columns[shown[columns]])
