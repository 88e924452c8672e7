"""Draw lines in any direction as dots: cut each segment to the area, then walk it in half-dot steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hadamard_tui.charts.patterns import PATTERNS

if TYPE_CHECKING:
    from hadamard_tui.charts.series import LineStyle

# One per dot would miss dots where the steps fall on their borders.
_PER_DOT = 2


def line_dots(across: np.ndarray, down: np.ndarray, style: LineStyle, wide: int, high: int) -> np.ndarray:
    """Return the dots of the line through these places, bool [high, wide].

    Args:
        across, down: places in dots, 0 being the centre of the first, rows from the top; NaN lifts the pen.
        style: leaves out dots by their column or, on steep segments, their row.
    """
    plane = np.zeros((high, wide), dtype=bool)
    start = np.stack([across[:-1], down[:-1]])
    step = np.stack([across[1:], down[1:]]) - start
    begin, end = _inside(start, step, np.array([[wide], [high]]))
    is_inside = begin <= end  # not where a place is NaN
    start, step, begin, end = start[:, is_inside], step[:, is_inside], begin[is_inside], end[is_inside]
    length = np.abs(step).max(axis=0) * (end - begin)
    counts = np.ceil(_PER_DOT * length).astype(np.int64) + 1
    segment = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(len(segment)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = begin[segment] + (end - begin)[segment] * (turn / np.maximum(counts - 1, 1)[segment])
    column, row = np.floor(start[:, segment] + step[:, segment] * share + 0.5).astype(np.int64)
    steep = (np.abs(step[1]) > np.abs(step[0]))[segment]
    pattern = np.array(PATTERNS.get(style, (True,)))
    on = pattern[np.where(steep, row, column) % len(pattern)]
    on &= (column >= 0) & (column < wide) & (row >= 0) & (row < high)
    plane[row[on], column[on]] = True
    return plane


def _inside(start: np.ndarray, step: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of each segment between which it is inside the area (Liang and Barsky 1984)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = (-0.5 - start) / step, (size - 0.5 - start) / step
    outside = (start < -0.5) | (start >= size - 0.5)
    still = step == 0
    enter = np.where(still, np.where(outside, np.inf, -np.inf), np.minimum(to_low, to_high))
    leave = np.where(still, np.inf, np.maximum(to_low, to_high))
    return np.maximum(enter.max(axis=0), 0.0), np.minimum(leave.min(axis=0), 1.0)
