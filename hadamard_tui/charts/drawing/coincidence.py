"""Finds curves that coincide on the screen, so that one would hide the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.scales import Scale
from hadamard_tui.charts.series import PATTERNS, is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.drawing.spans import Spans
    from hadamard_tui.charts.series import Axes, Series

NEAR = 1
"""Largest distance in dots between two curves that look like one curve."""

ROUNDING = 1e-5
"""Largest difference between curves that count as equal.

It is relative to the largest value or, on a log axis, to each value.
"""

CLOSE, FACTOR = 0.01, 1.1
"""Largest difference between curves that count as close.

CLOSE is a fraction of the length of the y-axis. FACTOR is a ratio of values, for log axes.
"""

LEAST_SHARE = 1 / 8
"""Minimum fraction of the chart's width over which curves must be near to coincide."""


def coincident(series: Sequence[Series], lines: Spans) -> list[tuple[int, ...]]:
    """Return groups of series that coincide on the screen, as tuples of the indices of the series.

    All members of a group are near its first member wherever both are visible. Series with a letter come
    first. Then come lines, from solid lines to lines with the sparsest dashes. Every visible series with a
    name, unless it is faint, is in exactly one group.
    """
    drawn = [
        at for at, curve in enumerate(series) if curve.name and not curve.faint and lines.shown[at].any()
    ]
    groups: list[list[int]] = []
    for index in sorted(drawn, key=lambda at: (not series[at].mark, _sparseness_of_dashes(series[at]))):
        for group in groups:
            if _are_near(lines, group[0], index):
                group.append(index)
                break
        else:
            groups.append([index])
    return [tuple(group) for group in groups]


def _are_near(lines: Spans, index: int, other: int) -> bool:
    shared = lines.shown[index] & lines.shown[other]
    if np.count_nonzero(shared) < LEAST_SHARE * len(shared):
        return False
    return bool(_is_near_in_columns(lines, index, other)[shared].all())


def _is_near_in_columns(lines: Spans, index: int, other: int, steep: bool = False) -> np.ndarray:
    """Return whether two lines are visible and near each other in each column, bool [columns].

    On steep lines, one dot sideways is many dots up or down. With `steep`, lines may therefore be farther
    apart. The permitted distance grows by half the vertical extent that the flatter line has in the column.
    """
    near: np.ndarray = lines.shown[index] & lines.shown[other]
    room: np.ndarray | int = NEAR
    if steep:
        room = NEAR + np.minimum(*(lines.bottom[line] - lines.top[line] for line in (index, other))) // 2
    for edge in (lines.top, lines.bottom):
        near &= np.abs(edge[index] - edge[other]) <= room
    return near


def repeated(series: Sequence[Series], lines: Spans, groups: Sequence[tuple[int, ...]] = ()) -> np.ndarray:
    """Return where a line is not drawn because it coincides with another line, bool [series, columns].

    If two dashed lines that coincide were both drawn, each would fill the gaps of the other. So only the line
    with the smallest gaps is drawn. If several lines have equally small gaps, only the first is drawn. Curves
    with a letter are not hidden.

    Args:
        groups: indices of series that are drawn as one line. Members of a group do not hide each other.
    """
    hidden = np.zeros_like(lines.shown)
    least = LEAST_SHARE * lines.shown.shape[1]
    line_indices = [at for at, curve in enumerate(series) if is_line(curve)]
    before: list[int] = []
    for index in sorted(line_indices, key=lambda at: _sparseness_of_dashes(series[at])):
        together = next((group for group in groups if index in group), ())
        for other in (earlier for earlier in before if earlier not in together):
            hidden[index] |= _long_runs(_is_near_in_columns(lines, other, index, steep=True), least)
        before.append(index)
    return hidden


def drawn_once(
    series: Sequence[Series], axes: Axes, lines: Spans, groups: Sequence[tuple[int, ...]] = ()
) -> list[Series]:
    """Return the series, interrupted where `repeated` hides a line. `axes` are those of `lines`."""
    hidden = repeated(series, lines, groups)
    edges = Scale(axes.x_limits, axes.x_log, lines.shown.shape[1]).edges()
    return [
        _with_gaps(curve, edges[_ends_of_runs(hidden[at])], axes) if hidden[at].any() else curve
        for at, curve in enumerate(series)
    ]


def _with_gaps(line: Series, gaps: np.ndarray, axes: Axes) -> Series:
    """Return a line that is interrupted between each pair of x values in `gaps` [G, 2].

    The points inside a gap are replaced by points at both ends of the gap.
    """
    order = np.argsort(line.x, kind="stable")
    x = line.x[order]
    outside = ~((x[:, None] >= gaps[:, 0]) & (x[:, None] <= gaps[:, 1])).any(1)
    places = np.concatenate([x[outside], gaps.ravel(), gaps.mean(1)])
    by_place = np.argsort(places, kind="stable")

    def cut(y: np.ndarray) -> np.ndarray:
        y = y[order]
        heights = np.array([_interpolated_height(x, y, place, axes) for place in gaps.ravel()])
        return np.concatenate([y[outside], heights, np.full(len(gaps), np.nan)])[by_place]

    band = None if line.band is None else (cut(line.band[0]), cut(line.band[1]))
    return replace(line, x=places[by_place], y=cut(line.y), band=band)


def _interpolated_height(x: np.ndarray, y: np.ndarray, place: float, axes: Axes) -> float:
    """Return the y of a line at x = `place`, interpolated linearly on the scales of the axes.

    The result is NaN before the first and after the last point of the line.
    """
    after = int(np.searchsorted(x, place))
    if not 0 < after < len(x):
        return np.nan
    ends, heights = x[after - 1 : after + 1], y[after - 1 : after + 1]
    if (axes.x_log and ends[0] <= 0) or (axes.y_log and heights.min() <= 0):
        return np.nan
    if axes.x_log:
        place, ends = np.log(place), np.log(ends)
    if axes.y_log:
        return float(np.exp(np.interp(place, ends, np.log(heights))))
    return float(np.interp(place, ends, heights))


def _sparseness_of_dashes(line: Series) -> float:
    dashes = PATTERNS.get(line.style, (True,))
    return 1 - sum(dashes) / len(dashes)


def _long_runs(is_near: np.ndarray, least: float) -> np.ndarray:
    """Return `is_near` without its runs of True that are shorter than `least`."""
    in_long_run = np.zeros_like(is_near)
    for start, end in _ends_of_runs(is_near).tolist():
        in_long_run[start:end] = end - start >= least
    return in_long_run


def _ends_of_runs(is_near: np.ndarray) -> np.ndarray:
    """Return the start and the end of each run of True, half-open, [runs, 2]."""
    return np.flatnonzero(np.diff(is_near, prepend=False, append=False)).reshape(-1, 2)


def alike(series: Sequence[Series], axes: Axes, groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Split each group into groups in which the values of all series are close to those of the first.

    Series that equal the first series come directly after it.
    """
    close_groups: list[tuple[int, ...]] = []
    for group in groups:
        remaining = list(group)
        while remaining:
            lead = series[remaining[0]]
            close = [at for at in remaining if at == remaining[0] or are_close(lead, series[at], axes)]
            equal = [at for at in close[1:] if are_equal(lead, series[at], axes.y_log)]
            close_groups.append((remaining[0], *equal, *(at for at in close[1:] if at not in equal)))
            remaining = [at for at in remaining if at not in close]
    return close_groups


def are_close(curve: Series, other: Series, axes: Axes) -> bool:
    """Return whether two curves are close to each other wherever both are visible.

    They may differ by CLOSE times the visible range of the y-axis. On a log axis, they must also differ by at
    most the factor FACTOR.
    """
    y, at = (_on_scale(values, axes.y_log) for values in _heights_at_shared_x(curve, other, axes))
    low, high = _on_scale(np.array(axes.y_limits), axes.y_log)
    tolerance = CLOSE * (high - low)
    if axes.y_log:
        tolerance = min(tolerance, np.log(FACTOR))
    with np.errstate(invalid="ignore"):
        far = np.abs(y - at)
    return bool((far[~np.isnan(far)] <= tolerance).all())


def _heights_at_shared_x(curve: Series, other: Series, axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    few, many = sorted(
        (np.stack([part.x, part.y])[:, np.isfinite(part.x) & np.isfinite(part.y)] for part in (curve, other)),
        key=lambda points: points.shape[1],
    )
    many = many[:, np.argsort(many[0], kind="stable")]
    low, high = (np.clip(limit, *many[0, [0, -1]]) for limit in axes.x_limits) if many.size else (0.0, 0.0)
    x, y = few[:, (few[0] >= low) & (few[0] <= high)]
    places = _on_scale(x, axes.x_log), _on_scale(many[0], axes.x_log), _on_scale(many[1], axes.y_log)
    at = np.interp(*places) if many.size else x
    return y, np.exp(at) if axes.y_log else at


def _on_scale(values: np.ndarray, log: bool) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values) if log else values


def are_equal(curve: Series, other: Series, log: bool = False) -> bool:
    """Return whether two curves are equal, up to rounding errors, wherever both have values."""
    shared = np.isfinite(curve.y) & (curve.x >= other.x.min()) & (curve.x <= other.x.max())
    if not shared.any():
        return False
    y = curve.y[shared]
    far = np.abs(y - np.interp(curve.x[shared], other.x, other.y))
    return bool((far <= ROUNDING * (np.abs(y) if log else np.abs(y).max())).all())
