"""Place the names of lines in a picture, nearer to their own line than to all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.cells import cell_len

from hadamard_tui.charts.patterns import is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Series
    from hadamard_tui.charts.spans import Spans

_STEP = 4
"""Cells between the places that are tried for a name, from the end of a line to its start."""

_FAR = 2
"""Most rows between a line and its name."""

_ROW = 2
"""Columns that are as wide as a row is high."""

_NEARER = _ROW
"""Columns by which a name must be nearer to its line than to any other."""

_REACH = 2 * _ROW * _FAR
"""Columns beyond which other lines are not compared."""

_MOST = 2
"""Most names of lines that run along each other; the legend names them all."""

_WIDEST = 2 / 5
"""Share of the picture's width up to which a name has room."""


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
    is_taken: np.ndarray,
    across: int,
    down: int,
) -> list[NameAt]:
    """Place the name of each line without a mark: at the last free place that is nearer to it than to others.

    Lines that run along the named one do not count as others. No place is nearer to one of two lines at most
    a row apart: there the upper line has its name above both, and the lower line below.

    Args:
        groups: the positions of series that run along each other.
        is_taken: which cells are not free, bool [rows, columns]; names stand on free cells only.
        across, down: how many dots a cell has.
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
        name = _by_letter(line.brief, letters)
        if sum(other.at in group_of.get(index, ()) for other in names) == _MOST:
            continue
        length, shown = cell_len(name), np.flatnonzero(lines.shown[index])
        if not len(shown) or length > _WIDEST * columns:
            continue
        centre = lines.centre[index] // down
        beside = _neighbours(series, lines, index, group_of.get(index, ()), down)
        along = [*group_of.get(index, ()), *beside]
        for row, column in _places(centre, shown, length, across):
            if not (0 <= row < rows and 0 <= column <= columns - length):
                continue
            if is_taken[row, max(column - 1, 0) : column + length + 1].any():
                continue
            if beside:
                below = shown[(shown >= column * across) & (shown < (column + length) * across)]
                above = _side(row, centre[below])
                if not above or any(above * side < 0 for side in beside.values()):
                    continue
            if heights.belongs(index, along, row, column, length):
                is_taken[row, column : column + length] = True
                names.append(NameAt(index, row, column, name))
                break
    return names


def _by_letter(name: str, letters: Mapping[str, str]) -> str:
    """Return a name such as "bound of EGU" with the learner's letter instead of its name."""
    line = owned(name, letters)
    return name if line is None else f"{line.what} of {letters[line.whose]}"


def _neighbours(
    series: Sequence[Series], lines: Spans, index: int, group: Sequence[int], down: int
) -> dict[int, int]:
    """Return other lines at most a row from this one, and whether it is above (−1) or below (1) them."""
    sides = {}
    for other, line in enumerate(series):
        both = lines.shown[index] & lines.shown[other]
        if other == index or other in group or not is_line(line) or not both.any():
            continue
        far = (lines.centre[index] - lines.centre[other])[both]
        if np.abs(far).max() <= down:
            sides[other] = int(np.sign(far.sum()))
    return sides


def _side(row: int, rows: np.ndarray) -> int:
    """Return whether a row is above (−1) or below (1) all of `rows`; 0 if neither, or without rows."""
    return int((row > rows).all()) - int((row < rows).all()) if len(rows) else 0


def _places(centre: np.ndarray, shown: np.ndarray, length: int, across: int) -> Iterator[tuple[int, int]]:
    """Yield the places where a name may begin, best first: behind the line's end, then above or below."""
    yield int(centre[shown[-1]]), int(shown[-1]) // across + 2
    for dot in shown[:: -_STEP * across]:
        for far in range(1, _FAR + 1):
            for row in (centre[dot] - far, centre[dot] + far):
                yield int(row), int(dot) // across - length + 1
        for far in range(1, _FAR + 1):
            for row in (centre[dot] - far, centre[dot] + far):
                yield int(row), int(dot) // across


class _Heights(NamedTuple):
    """Top and bottom row of each series in every column of cells, [series, columns]."""

    top: np.ndarray
    bottom: np.ndarray
    there: np.ndarray

    @classmethod
    def of(cls, lines: Spans, across: int, down: int) -> _Heights:
        shape = (len(lines.shown), lines.shown.shape[1] // across, across)
        is_shown = lines.shown.reshape(shape)
        top = np.where(is_shown, lines.top.reshape(shape), np.iinfo(np.int32).max).min(2) // down
        bottom = np.where(is_shown, lines.bottom.reshape(shape), -1).max(2) // down
        return cls(top, bottom, np.asarray(is_shown.any(2)))

    def belongs(self, index: int, along: Sequence[int], row: int, column: int, length: int) -> bool:
        """Whether a name that begins there is nearer to its line than to lines that do not run along it."""
        near = np.s_[:, max(column - _REACH, 0) : column + length + _REACH]
        places = np.arange(self.top.shape[1])[near[1]]
        beside = np.maximum(np.maximum(column - places, places - (column + length - 1)), 0)
        up = np.maximum(np.maximum(self.top[near] - row, row - self.bottom[near]), 0)
        far = np.where(self.there[near], np.hypot(beside, _ROW * up), np.inf).min(1)
        is_other = np.ones(len(far), dtype=bool)
        is_other[[index, *along]] = False
        return bool((far[is_other] >= far[index] + _NEARER).all())


class Owned(NamedTuple):
    """A line that is about one curve alone."""

    what: str
    """Name without the curve, as "bound"."""

    whose: str
    """Name of the curve."""


def owned(name: str, curves: Iterable[str]) -> Owned | None:
    """Split a name such as "bound of EGU" into line and curve; None if it names none of these curves."""
    owner = next((curve for curve in curves if name.endswith(f" of {curve}")), None)
    return None if owner is None else Owned(name.removesuffix(f" of {owner}"), owner)
