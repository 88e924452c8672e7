"""Convert series to spans: find the points that can be drawn, and the series that share x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hadamard_tui.charts.patterns import is_line
from hadamard_tui.charts.scale import Scale
from hadamard_tui.charts.spans import Spans, empty, fill

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Axes, Series


class Hidden(NamedTuple):
    """How many points no limits could show, of curves alone; NaN is no point, only a gap."""

    places: int = 0
    """±inf on the x-axis, or ≤ 0 where that is logarithmic."""

    values: int = 0
    """The same of the y-axis."""

    rounding: int = 0
    """On a logarithmic y-axis, those that are above 0 by rounding alone."""


def lay(series: Sequence[Series], axes: Axes, columns: int, rows: int) -> tuple[Spans, Spans, Hidden]:
    """Return the spans of lines, the spans of bands, and the number of points that no limits could show.

    Args:
        columns, rows: the grid to draw on, in dots.
    """
    across, up = Scale(axes.x_limits, axes.x_log, columns), Scale(axes.y_limits, axes.y_log, rows)
    lines, bands = empty(len(series), columns), empty(len(series), columns)
    places = values = rounding = 0
    for shared, members in _by_x(series):
        x, order, lost = _usable_x(shared, axes.x_log)
        counted = [not (series[index].is_region or is_line(series[index])) for index in members]
        places += lost * sum(counted)
        ys = []
        for index, counts in zip(members, counted, strict=True):
            y = series[index].y if order is None else series[index].y[order]
            drawn = drawable(y, axes)
            gone = np.isnan(drawn) & ~np.isnan(y)
            rounded = int((gone & np.isfinite(y) & (y > 0)).sum())
            values += (int(gone.sum()) - rounded) * counts
            rounding += rounded * counts
            ys.append(drawn)
        fill(lines, members, x, ys, ys, across, up)
        for index in members:
            if (band := drawable_band(series[index], axes)) is not None:
                low, high = band if order is None else (band[0][order], band[1][order])
                fill(bands, [index], x, [low], [high], across, up)
    return lines, bands, Hidden(places, values, rounding)


def _by_x(series: Sequence[Series]) -> list[tuple[np.ndarray, list[int]]]:
    """Group positions in `series` by equal x."""
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
    """Return drawable x in increasing order, its order (None if unchanged), and the number of lost points."""
    keep = np.isfinite(x) & (x > 0) if log else np.isfinite(x)
    if keep.all() and (x[1:] >= x[:-1]).all():
        return x, None, 0
    order = np.flatnonzero(keep)
    order = order[np.argsort(x[order], kind="stable")]
    return x[order], order, len(np.unique(x[~keep & ~np.isnan(x)]))


def drawable(y: np.ndarray, axes: Axes) -> np.ndarray:
    """Return y with NaN for values without a place on the y-axis.

    These are ±inf and, on a logarithmic axis, values ≤ 0 and values that are 0 up to rounding.
    """
    keep = np.isfinite(y) & (y > axes.y_rounding) if axes.y_log else np.isfinite(y)
    return y if keep.all() else np.where(keep, y, np.nan)


def drawable_band(curve: Series, axes: Axes) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the borders of a band, NaN where its curve is 0 up to rounding on a logarithmic y-axis."""
    if curve.band is None or not axes.y_log:
        return curve.band
    low, high = (np.where(np.abs(curve.y) <= axes.y_rounding, np.nan, border) for border in curve.band)
    return low, high
