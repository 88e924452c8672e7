"""A curve as one vertical run of dots per dot column: decimation, continuity, gaps and clipping in one step.

The rule, for every curve and dot column:
1. A column that holds points spans from their least to their greatest y.
2. A column without points, inside a segment of the curve, holds that segment's y at the column's centre.
3. Where a segment leads from a column of the chart to the next and their runs are more than one dot apart,
   both grow towards each other and meet half way.
4. What lies outside the limits is cut off.

A point whose y cannot be drawn interrupts the curve. A gap narrower than a dot column is not visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from hadamard_tui.charts.scale import Scale

# Curves with equal x are handled as one matrix up to this many points each; copying longer ones costs more
# than the loop saves.
_STACKED = 4096

# Rows beyond this are all alike: out of sight. A logarithmic axis has the place of 0 at −∞.
_FAR = 1 << 30


class Spans(msgspec.Struct, frozen=True):
    """Runs of dots, all of shape [curves, columns]; dot rows count from the top, both ends included."""

    top: np.ndarray  # int32
    bottom: np.ndarray  # int32
    centre: np.ndarray  # int32, the middle of the run before it grew to meet its neighbours
    shown: np.ndarray  # bool, whether there is a run at all
    lone: np.ndarray  # bool, whether no segment leaves the column on either side


def empty(curves: int, columns: int) -> Spans:
    shape = (curves, columns)
    return Spans(
        *(np.zeros(shape, dtype=np.int32) for _ in range(3)), *(np.zeros(shape, dtype=bool) for _ in range(2))
    )


def fill(
    spans: Spans,
    which: Sequence[int],
    x: np.ndarray,
    low: Sequence[np.ndarray],
    high: Sequence[np.ndarray],
    across: Scale,
    up: Scale,
) -> None:
    """Write the runs of curves with a common x into `spans` at the rows `which`.

    Args:
        x: increasing, without NaN, shape [n].
        low, high: the lowest and highest y per point, one array of shape [n] for each of `which`; for a plain
            curve they are the same objects. NaN interrupts, ±inf is far outside.
    """
    grid = _Grid.of(x, across)
    plain = all(a is b for a, b in zip(low, high, strict=True))
    if len(x) <= _STACKED and len(which) > 1:
        bottom = np.stack(low)
        _fill(spans, np.asarray(which), bottom, bottom if plain else np.stack(high), grid, up)
    else:
        for index, a, b in zip(which, low, high, strict=True):
            _fill(spans, np.asarray([index]), a[None], b[None], grid, up)


class _Grid(msgspec.Struct, frozen=True):
    """Position of the points of one x among the dot columns."""

    full: np.ndarray  # int [m], columns that hold points
    starts: np.ndarray  # int [m], the first point of each of those
    end: int  # one past the last point inside
    crossed: np.ndarray  # int [c], borders 0 … columns that some segment crosses
    after: np.ndarray  # int [c], the point at the right end of that segment; the left end is one less
    between: np.ndarray  # int [e], positions in `crossed` of columns without points
    weight: np.ndarray  # float [e], how far along its segment the centre of such a column is

    @property
    def single(self) -> bool:
        """Whether no column holds more than one point, so that no decimation is needed."""
        return self.full.size == 0 or self.end - self.starts[0] == self.full.size

    @classmethod
    def of(cls, x: np.ndarray, across: Scale) -> _Grid:
        first = np.searchsorted(x, across.edges())  # [columns + 1], first point right of each border
        holds = first[:-1] < first[1:]
        crossed = np.flatnonzero((first > 0) & (first < len(x)))
        after = first[crossed]
        between = np.flatnonzero((crossed < across.size) & ~holds[np.minimum(crossed, across.size - 1)])
        ends = after[between]
        left_places, right_places = across.place(x[ends - 1]), across.place(x[ends])
        full = np.flatnonzero(holds)
        return cls(
            full,
            first[full],
            int(first[-1]),
            crossed,
            after,
            between,
            (crossed[between] - left_places) / (right_places - left_places),
        )


def _fill(spans: Spans, which: np.ndarray, low: np.ndarray, high: np.ndarray, grid: _Grid, up: Scale) -> None:
    bottom, joined = _edge(low, np.fmin, grid, up, spans.top.shape[1])
    top = bottom if low is high and grid.single else _edge(high, np.fmax, grid, up, spans.top.shape[1])[0]
    last = up.size - 1
    shown = ~np.isnan(top)
    top, bottom = (
        np.floor(last + 0.5 - np.nan_to_num(edge).clip(-_FAR, _FAR)).astype(np.int32)
        for edge in (top, bottom)
    )
    spans.centre[which] = ((top + bottom) // 2).clip(0, last)
    top, bottom = _meet(top, bottom, joined[:, 1:-1])
    spans.shown[which] = shown & (bottom >= 0) & (top <= last)
    spans.top[which], spans.bottom[which] = top.clip(0, last), bottom.clip(0, last)
    spans.lone[which] = ~(joined[:, :-1] | joined[:, 1:])


def _edge(
    values: np.ndarray, extreme: np.ufunc, grid: _Grid, up: Scale, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """One edge of the runs as positions upwards [curves, columns], NaN where there is none, and which borders
    between the columns (outer ones included) a segment crosses, bool [curves, columns + 1]."""
    edge = np.full((len(values), columns), np.nan)
    if grid.full.size:
        if grid.single:
            extremes = values[:, grid.starts[0] : grid.end]
        else:
            extremes = extreme.reduceat(values[:, : grid.end], grid.starts, axis=1)
        edge[:, grid.full] = up.place(extremes)
    before, after = up.place(values[:, grid.after - 1]), up.place(values[:, grid.after])
    joined = np.zeros((len(values), columns + 1), dtype=bool)
    joined[:, grid.crossed] = ~np.isnan(before + after)
    start, stop = before[:, grid.between], after[:, grid.between]
    edge[:, grid.crossed[grid.between]] = start + grid.weight * (stop - start)
    return edge, joined


def _meet(top: np.ndarray, bottom: np.ndarray, joined: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Grow the runs of neighbouring columns until they touch; `joined` has shape [curves, columns − 1]."""
    grown_top, grown_bottom = top.copy(), bottom.copy()
    for column, neighbour in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:, 1:], np.s_[:, :-1])):
        falls = joined & (top[neighbour] - bottom[column] > 1)
        middle = (bottom[column] + top[neighbour]) // 2
        grown_bottom[column] = np.where(falls, np.maximum(grown_bottom[column], middle), grown_bottom[column])
        grown_top[neighbour] = np.where(
            falls, np.minimum(grown_top[neighbour], middle + 1), grown_top[neighbour]
        )
    return grown_top, grown_bottom
