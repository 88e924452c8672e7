"""Converts series to vertical runs of dots, and remarks on what the chart cannot show.

A run is a range of adjacent dots in one column of dots. These rules determine the run of a curve in a column:

1. If the column has points, the run spans from their lowest to their highest y.
2. If the column has no points but a segment crosses it, the run is the segment's y at the column's centre.
3. If a segment joins neighbouring columns whose runs are more than one dot apart, both runs are extended
until they meet half way.
4. Parts outside the limits are cut off.

A point whose y cannot be drawn makes a gap in the curve. A gap that is narrower than a column of dots is
invisible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Series


# Curves with equal x are combined to one matrix if each has at most this many points. For longer curves, the
# copy takes more time than a loop over the curves.
_STACKED = 4096

# Largest row number; all rows beyond it are far outside the chart. It replaces the infinite row number of 0
# on a log axis.
_FAR = 1 << 30  # fits int32


class Spans(msgspec.Struct, frozen=True):
    """Vertical runs of dots that draw curves: the rows of dots that a curve covers in each column of dots.

    The arrays have the shape [curves, columns]. Rows of dots are counted from the top. A run includes the
    dots at both of its ends.
    """

    top: np.ndarray  # int32
    bottom: np.ndarray  # int32
    centre: np.ndarray  # int32, the middle of the run before it was extended to meet its neighbours
    shown: np.ndarray  # bool, whether the curve has a run in the column
    lone: np.ndarray  # bool, whether no segment leaves the column on either side


def empty_spans(curves: int, columns: int) -> Spans:
    shape = (curves, columns)
    return Spans(
        *(np.zeros(shape, dtype=np.int32) for _ in range(3)), *(np.zeros(shape, dtype=bool) for _ in range(2))
    )


def fill_spans(
    spans: Spans,
    which: Sequence[int],
    x: np.ndarray,
    low: Sequence[np.ndarray],
    high: Sequence[np.ndarray],
    across: Scale,
    up: Scale,
) -> None:
    """Compute the vertical run of dots of each curve in each column, and write it into `spans`.

    All curves have the same x values. Curve number i is written into row `which[i]` of `spans`.

    Args:
        x: increasing, without NaN, shape [n].
        low, high: the lowest and the highest y of every point, one array of shape [n] for each curve. For a
            curve without a band, both are the same object. NaN makes a gap in the curve. Infinite values lie
            far above or below the chart.
    """
    grid = _Grid.of(x, across)
    plain = all(a is b for a, b in zip(low, high, strict=True))
    if len(x) <= _STACKED and len(which) > 1:
        bottom = np.stack(low)
        _fill_spans(spans, np.asarray(which), bottom, bottom if plain else np.stack(high), grid, up)
    else:
        for index, a, b in zip(which, low, high, strict=True):
            _fill_spans(spans, np.asarray([index]), a[None], b[None], grid, up)


class _Grid(msgspec.Struct, frozen=True):
    """Assignment of points to columns of dots, for curves with the same x values."""

    full: np.ndarray  # int [m], dot columns that contain points
    starts: np.ndarray  # int [m], the first point in each of these columns
    end: int  # one more than the last point inside the limits of x
    crossed: np.ndarray  # int [c], column borders that a segment crosses, counted from 0
    after: np.ndarray  # int [c], the point at the right end of this segment; the left end is one less
    between: np.ndarray  # int [e], positions in `crossed` of columns without points
    weight: np.ndarray  # float [e], position of the column's centre, as a fraction of its segment

    @property
    def single(self) -> bool:
        return self.full.size == 0 or self.end - self.starts[0] == self.full.size

    @classmethod
    def of(cls, x: np.ndarray, across: Scale) -> _Grid:
        first = np.searchsorted(x, across.edges())  # [columns + 1], the first point right of each border
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


def _fill_spans(
    spans: Spans, which: np.ndarray, low: np.ndarray, high: np.ndarray, grid: _Grid, up: Scale
) -> None:
    bottom, joined = _edge_and_crossings(low, np.fmin, grid, up, spans.top.shape[1])
    top = (
        bottom
        if low is high and grid.single
        else _edge_and_crossings(high, np.fmax, grid, up, spans.top.shape[1])[0]
    )
    last = up.size - 1
    shown = ~np.isnan(top)
    top, bottom = (
        np.floor(last + 0.5 - np.nan_to_num(edge).clip(-_FAR, _FAR)).astype(np.int32)
        for edge in (top, bottom)
    )
    spans.centre[which] = ((top + bottom) // 2).clip(0, last)
    top, bottom = _joined_runs(top, bottom, joined[:, 1:-1])
    spans.shown[which] = shown & (bottom >= 0) & (top <= last)
    spans.top[which], spans.bottom[which] = top.clip(0, last), bottom.clip(0, last)
    spans.lone[which] = ~(joined[:, :-1] | joined[:, 1:])


def _edge_and_crossings(
    values: np.ndarray, extreme: np.ufunc, grid: _Grid, up: Scale, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower or upper end of each curve in each column, and the column borders that it crosses.

    In a column of dots, a curve covers the dots from its lower to its upper end. The ends [curves, columns]
    are positions counted upwards, NaN where a column has no part of a curve. They are lower ends if `extreme`
    is the minimum, and upper ends if it is the maximum. The crossings are bool [curves, columns + 1]. They
    include the left border of the first column and the right border of the last column.
    """
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


def _joined_runs(top: np.ndarray, bottom: np.ndarray, joined: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Extend the vertical runs of a curve in neighbouring columns until the runs touch.

    Each of the two runs is extended half of the way. Runs are extended only where a segment of the curve
    joins both columns, as `joined` [curves, columns − 1] says.
    """
    grown_top, grown_bottom = top.copy(), bottom.copy()
    for column, neighbour in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:, 1:], np.s_[:, :-1])):
        falls = joined & (top[neighbour] - bottom[column] > 1)
        middle = (bottom[column] + top[neighbour]) // 2
        grown_bottom[column] = np.where(falls, np.maximum(grown_bottom[column], middle), grown_bottom[column])
        grown_top[neighbour] = np.where(
            falls, np.minimum(grown_top[neighbour], middle + 1), grown_top[neighbour]
        )
    return grown_top, grown_bottom


class Hidden(NamedTuple):
    """Numbers of points that linear or logarithmic axes cannot show, whatever their limits.

    NaN does not count as a point. Points of theory lines and regions are not counted.
    """

    places: int = 0
    """Points with x = ±inf, or x ≤ 0 on a logarithmic x-axis."""

    values: int = 0
    """Points with y = ±inf, or y ≤ 0 on a logarithmic y-axis."""

    rounding: int = 0
    """Points on a logarithmic y-axis that are above 0 only because of rounding."""


def lay(series: Sequence[Series], axes: Axes, columns: int, rows: int) -> tuple[Spans, Spans, Hidden]:
    """Return the vertical runs of dots for the lines of series and for their bands, and hidden points.

    `Hidden` describes the hidden points.

    Args:
        columns, rows: the width and the height of the picture in dots.
    """
    across, up = Scale(axes.x_limits, axes.x_log, columns), Scale(axes.y_limits, axes.y_log, rows)
    lines, bands = empty_spans(len(series), columns), empty_spans(len(series), columns)
    places = values = rounding = 0
    for shared, indices in _indices_by_x(series):
        x, order, lost = _usable_x(shared, axes.x_log)
        counted = [not (series[index].is_region or is_line(series[index])) for index in indices]
        places += lost * sum(counted)
        ys = []
        for index, counts in zip(indices, counted, strict=True):
            y = series[index].y if order is None else series[index].y[order]
            drawn = drawable(y, axes)
            gone = np.isnan(drawn) & ~np.isnan(y)
            rounded = int((gone & np.isfinite(y) & (y > 0)).sum())
            values += (int(gone.sum()) - rounded) * counts
            rounding += rounded * counts
            ys.append(drawn)
        fill_spans(lines, indices, x, ys, ys, across, up)
        for index in indices:
            if (band := drawable_band(series[index], axes)) is not None:
                low, high = band if order is None else (band[0][order], band[1][order])
                fill_spans(bands, [index], x, [low], [high], across, up)
    return lines, bands, Hidden(places, values, rounding)


def _indices_by_x(series: Sequence[Series]) -> list[tuple[np.ndarray, list[int]]]:
    groups: list[tuple[np.ndarray, list[int]]] = []
    for index, curve in enumerate(series):
        for x, members in groups:
            if x is curve.x or (len(x) == len(curve.x) and np.array_equal(x, curve.x)):
                members.append(index)
                break
        else:
            groups.append((curve.x, [index]))
    return groups


def _usable_x(x: np.ndarray, log: bool) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Return the x values that can be drawn, their indices in `x`, and the number of other x values.

    The returned x values are in increasing order. The indices are in the order of the returned values. If all
    values of `x` can be drawn and are already in increasing order, the indices are None. Among the other x
    values, equal values count once, and NaN does not count.
    """
    keep = np.isfinite(x) & (x > 0) if log else np.isfinite(x)
    if keep.all() and (x[1:] >= x[:-1]).all():
        return x, None, 0
    order = np.flatnonzero(keep)
    order = order[np.argsort(x[order], kind="stable")]
    return x[order], order, len(np.unique(x[~keep & ~np.isnan(x)]))


def drawable(y: np.ndarray, axes: Axes) -> np.ndarray:
    """Return y with NaN in place of values that the y-axis cannot show.

    An axis cannot show ±inf. A logarithmic axis also cannot show values ≤ 0, and leaves out values that are 0
    up to rounding.
    """
    keep = np.isfinite(y) & (y > axes.y_rounding) if axes.y_log else np.isfinite(y)
    return y if keep.all() else np.where(keep, y, np.nan)


def drawable_band(curve: Series, axes: Axes) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the lower and the upper border of a curve's band, or None if the curve has no band.

    On a logarithmic y-axis, the borders are NaN where the curve is 0 up to rounding.
    """
    if curve.band is None or not axes.y_log:
        return curve.band
    low, high = (np.where(np.abs(curve.y) <= axes.y_rounding, np.nan, border) for border in curve.band)
    return low, high


def left_out(series: Sequence[Series], shown: np.ndarray) -> frozenset[int]:
    """Return the indices of lines without a letter, such as theory lines, that lie outside the chart.

    The legend omits these lines.

    Args:
        shown: whether each series is visible in each column, bool [series, columns].
    """
    return frozenset(
        at for at, line in enumerate(series) if is_line(line) and len(line.x) and not shown[at].any()
    )


def beyond(curve: Series, axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each point of a series is above the chart, and whether it is below the chart.

    The lower limit of a linear axis is at most the smallest value, apart from rounding errors. So on a linear
    axis, no point counts as below the chart.
    """
    low, high = axes.y_limits
    inside = (curve.x >= axes.x_limits[0]) & (curve.x <= axes.x_limits[1]) & np.isfinite(curve.y)
    below = (curve.y > axes.y_rounding) & (curve.y < low) if axes.y_log else np.zeros_like(inside)
    return inside & (curve.y > high), inside & below


def remark(series: Sequence[Series], axes: Axes, hidden: Hidden) -> str:
    above: dict[str, None] = {}
    below: dict[str, None] = {}
    for curve in series:
        called = curve.mark or (curve.name.partition(", ")[0] if is_line(curve) else "")
        for names, is_beyond in zip((above, below), beyond(curve, axes), strict=True):
            if called and is_beyond.any():
                names[called] = None
    sides = [("above", above), ("below", below)]
    remarks = [f"{side} the chart: {', '.join(called)}" for side, called in sides if called]
    points = hidden.values + hidden.places * (not axes.x_log)
    if hidden.places and axes.x_log:
        remarks.append(f"{axes.x_label} ≤ 0 not shown")
    for count, why in ((points, "≤ 0 or ∞"), (hidden.rounding, "0 up to rounding")):
        if count:
            remarks.append(f"{count} point{'s' * (count > 1)} not drawn ({why})")
    return " · ".join(remarks)
