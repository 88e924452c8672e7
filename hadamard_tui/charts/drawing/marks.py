"""Places the letters of curves and the names of lines inside a picture."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.drawing.spans import beyond
from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import FEW, is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.drawing.spans import Spans
    from hadamard_tui.charts.series import Axes, Series


ABOVE, BELOW = "↑", "↓"
"""Arrows before the letter of a curve that leaves the chart at its upper or lower edge."""

_ROOM = 3  # minimum distance in cells between points, so that each of them has a letter
_MARK_PERIOD, _MARK_ROOM = 24, 6  # distance in cells between letters of the same curve; of two curves


class MarkAt(NamedTuple):
    """Cell that shows the letter of a series; `at` is the index of the series."""

    at: int
    row: int
    column: int


class EdgeMark(NamedTuple):
    """Arrow and letter of a series at the edge of the chart, and the cell in which they begin.

    `at` is the index of the series.
    """

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
    """Return the cells for the letters of the series, which distinguish curves without colour.

    A curve with few points has its letter at each point. Any other curve has its letter at its end, or left
    of the end if that cell is occupied. Such a curve repeats its letter at intervals, each curve in separate
    columns. If possible, a blank cell separates letters, so that they do not look like a word.

    Args:
        groups: indices of series that coincide; only the first of a group is drawn.
        shape: numbers of rows and columns of the picture.
        across, down: numbers of dots per cell.
    """
    rows, columns = shape
    cells = lines.centre // down * columns + np.arange(lines.centre.shape[1]) // across
    for lead, *followers in groups:
        cells[followers] = np.where(lines.shown[lead], cells[lead], cells[followers])
    point_columns = [
        _columns_of_points(curve, axes, lines.shown[at], across) for at, curve in enumerate(series)
    ]
    free = np.ones((2, rows * columns), dtype=bool)  # [0]: no letter here; [1]: none beside it
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
    for turn in range(FEW):  # alternating, so that curves that coincide share their common points
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
    """Yield an arrow with a curve's letter at each place where the curve leaves the chart at top or bottom.

    Args:
        shape: numbers of rows and columns of the picture.
        letters: letters that are already placed; no arrow covers them.
    """
    rows, columns = shape
    across = Scale(axes.x_limits, axes.x_log, columns)
    taken_cells = {(letter.row, letter.column) for letter in letters}
    for index, curve in enumerate(series):
        if not curve.mark or curve.faint:
            continue
        for arrow, row, is_beyond in zip((ABOVE, BELOW), (0, rows - 1), beyond(curve, axes), strict=True):
            for column in _columns_of_runs(curve.x, is_beyond, across):
                cells = {(row, column), (row, column + 1)}
                if taken_cells.isdisjoint(cells):
                    taken_cells |= cells
                    yield EdgeMark(index, row, column, f"{arrow}{curve.mark}")


def _columns_of_runs(x: np.ndarray, chosen: np.ndarray, across: Scale) -> list[int]:
    """Return the column in which each run of adjacent points with `chosen` set begins.

    Runs that begin close to the previous one are left out. A column is never the last one of the chart,
    because the arrow and the letter that are placed there take two cells.

    Args:
        x: x values of all points of the curve.
        chosen: whether each point is chosen.
    """
    order = np.argsort(x, kind="stable")
    starts = order[chosen[order] & ~np.concatenate([[False], chosen[order][:-1]])]
    cells = np.floor(across.place(x[starts]) + 0.5).astype(int).clip(0, max(across.size - 2, 0))
    return [int(cell) for cell in cells[np.diff(cells, prepend=-_MARK_ROOM) >= _MARK_ROOM]]


def zeros(series: Sequence[Series], axes: Axes, rows: int, columns: int) -> Iterator[MarkAt]:
    across = Scale(axes.x_limits, axes.x_log, columns)
    for index, curve in enumerate(series):
        for column in np.floor(across.place(zeros_of(curve, axes, columns)) + 0.5).astype(int).tolist():
            yield MarkAt(index, rows - 1, column)


def zeros_of(curve: Series, axes: Axes, columns: int) -> np.ndarray:
    """Return the x values at which a curve is 0 up to rounding, which a log y-axis cannot show.

    The result is empty if the y-axis is linear, or if the curve has no letter. It is also empty if points of
    the curve are close to each other. `columns` is the width of the chart in cells.
    """
    if not (axes.y_log and curve.mark):
        return np.empty(0)
    in_sight = np.isfinite(curve.y) & (curve.x >= axes.x_limits[0]) & (curve.x <= axes.x_limits[1])
    places = np.floor(Scale(axes.x_limits, axes.x_log, columns).place(curve.x[in_sight]) + 0.5)
    if (np.abs(np.diff(places)) < _ROOM).any():
        return np.empty(0)
    zero_places: np.ndarray = curve.x[in_sight][np.abs(curve.y[in_sight]) <= axes.y_rounding]
    return zero_places


def _columns_of_points(curve: Series, axes: Axes, shown: np.ndarray, across: int) -> np.ndarray:
    """Return the columns of dots in which a curve has points, so that each point can have a letter.

    They are in increasing order. The result is empty if there are many points, or if points are close to each
    other.
    """
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


_STEP = 4
"""Distance in cells between the positions that are tried for a name, from the end of a line to its start."""

_FAR = 2
"""Maximum number of rows between a line and its name."""

_ROW = 2
"""Number of columns that are together as wide as a row is high."""

_NEARER = _ROW
"""Number of columns by which a name must be nearer to its line than to any other line."""

_REACH = 2 * _ROW * _FAR
"""Distance from a name, in columns, beyond which other lines are ignored."""

_MOST = 2
"""Maximum number of names beside a group of lines that coincide. The legend names all of them."""

_WIDEST = 2 / 5
"""Maximum width of a name, as a share of the picture's width."""


class NameAt(NamedTuple):
    """Name of a series, and the cell in which the name begins. `at` is the index of the series."""

    at: int
    row: int
    column: int
    name: str


def line_names(
    series: Sequence[Series],
    lines: Spans,
    groups: Sequence[tuple[int, ...]],
    is_taken: np.ndarray,
    across: int,
    down: int,
) -> list[NameAt]:
    """Return a position for the name of each series without a letter, such as a theory line.

    The position is as near as possible to the right end of the line. The position must be free, and nearer to
    the line than to other lines. Lines that coincide with the line do not count. If two lines are at most a
    row apart, the upper line has its name above both, and the lower line below both.

    Args:
        groups: indices of series that coincide.
        is_taken: whether each cell is occupied, bool [rows, columns]; names use only free cells.
        across, down: numbers of dots per cell.
    """
    rows, columns = is_taken.shape
    is_taken = is_taken.copy()
    heights = _Heights.of(lines, across, down)
    names: list[NameAt] = []
    group_of = {index: group for group in groups for index in group}
    letters = {curve.name: curve.mark for curve in series if curve.name and curve.mark}
    for index, line in enumerate(series):
        if not line.name or not is_line(line):
            continue
        line_name = _name_with_letter(line.brief, letters)
        if sum(earlier_name.at in group_of.get(index, ()) for earlier_name in names) == _MOST:
            continue
        length, shown = cell_len(line_name), np.flatnonzero(lines.shown[index])
        if not len(shown) or length > _WIDEST * columns:
            continue
        centre = lines.centre[index] // down
        beside = _sides_of_neighbours(series, lines, index, group_of.get(index, ()), down)
        along = [*group_of.get(index, ()), *beside]
        for row, column in _cells_for_name(centre, shown, length, across):
            if not (0 <= row < rows and 0 <= column <= columns - length):
                continue
            if is_taken[row, max(column - 1, 0) : column + length + 1].any():
                continue
            if beside:
                below = shown[(shown >= column * across) & (shown < (column + length) * across)]
                above = _side_of_rows(row, centre[below])
                if not above or any(above * side < 0 for side in beside.values()):
                    continue
            if heights.belongs(index, along, row, column, length):
                is_taken[row, column : column + length] = True
                names.append(NameAt(index, row, column, line_name))
                break
    return names


def _name_with_letter(line_name: str, letters: Mapping[str, str]) -> str:
    """Replace the curve's name by its letter in a theory line's name: "bound of EGU" becomes "bound of A"."""
    line = owned(line_name, letters)
    return line_name if line is None else f"{line.name} of {letters[line.curve]}"


def _sides_of_neighbours(
    series: Sequence[Series], lines: Spans, index: int, group: Sequence[int], down: int
) -> dict[int, int]:
    """Return whether line `index` is above (−1) or below (1) each neighbour, by the neighbour's index.

    A neighbour is a line that is at most a row away wherever both are visible.
    """
    sides = {}
    for other, line in enumerate(series):
        both = lines.shown[index] & lines.shown[other]
        if other == index or other in group or not is_line(line) or not both.any():
            continue
        far = (lines.centre[index] - lines.centre[other])[both]
        if np.abs(far).max() <= down:
            sides[other] = int(np.sign(far.sum()))
    return sides


def _side_of_rows(row: int, rows: np.ndarray) -> int:
    """Return −1 if a row is above all of `rows`, 1 if it is below all of them, and 0 otherwise."""
    return int((row > rows).all()) - int((row < rows).all()) if len(rows) else 0


def _cells_for_name(
    centre: np.ndarray, shown: np.ndarray, length: int, across: int
) -> Iterator[tuple[int, int]]:
    """Yield cells in which the name of a theory line could begin, from the best to the worst.

    The first cell is right of the line's end. All others are above or below the line.
    """
    yield int(centre[shown[-1]]), int(shown[-1]) // across + 2
    for dot in shown[:: -_STEP * across]:
        for far in range(1, _FAR + 1):
            for row in (centre[dot] - far, centre[dot] + far):
                yield int(row), int(dot) // across - length + 1
        for far in range(1, _FAR + 1):
            for row in (centre[dot] - far, centre[dot] + far):
                yield int(row), int(dot) // across


class _Heights(NamedTuple):
    """Highest and lowest row of each series in every column of cells, as arrays [series, columns]."""

    top: np.ndarray
    bottom: np.ndarray
    is_shown: np.ndarray

    @classmethod
    def of(cls, lines: Spans, across: int, down: int) -> _Heights:
        shape = (len(lines.shown), lines.shown.shape[1] // across, across)
        is_shown = lines.shown.reshape(shape)
        top = np.where(is_shown, lines.top.reshape(shape), np.iinfo(np.int32).max).min(2) // down
        bottom = np.where(is_shown, lines.bottom.reshape(shape), -1).max(2) // down
        return cls(top, bottom, np.asarray(is_shown.any(2)))

    def belongs(self, index: int, along: Sequence[int], row: int, column: int, length: int) -> bool:
        """Return whether a text at a cell would be clearly nearer to line `index` than to all other lines.

        A reader then sees that the text names this line. Lines in `along` are not compared, because they
        coincide with line `index` or are too close to it.
        """
        near = np.s_[:, max(column - _REACH, 0) : column + length + _REACH]
        places = np.arange(self.top.shape[1])[near[1]]
        beside = np.maximum(np.maximum(column - places, places - (column + length - 1)), 0)
        up = np.maximum(np.maximum(self.top[near] - row, row - self.bottom[near]), 0)
        far = np.where(self.is_shown[near], np.hypot(beside, _ROW * up), np.inf).min(1)
        is_other = np.ones(len(far), dtype=bool)
        is_other[[index, *along]] = False
        return bool((far[is_other] >= far[index] + _NEARER).all())


class Owned(NamedTuple):
    """Name of a theory line of one curve, such as "bound of EGU", split into "bound" and "EGU"."""

    name: str
    curve: str


def owned(line_name: str, curves: Iterable[str]) -> Owned | None:
    """Split "bound of EGU" into "bound" and "EGU", if "EGU" is one of `curves`."""
    owner = next((curve for curve in curves if line_name.endswith(f" of {curve}")), None)
    return None if owner is None else Owned(line_name.removesuffix(f" of {owner}"), owner)
