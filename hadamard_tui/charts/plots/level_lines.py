"""Lines along which a function on the grid of a heat map has a given value."""

from __future__ import annotations

from typing import Any

import numpy as np

INTERVALS = 64
"""Approximate number of intervals into which a coarse axis is divided.

A theory line is computed for the experiment of each sweep point, so it has no values between those points.
More values would need more experiments, with their random numbers. But theory lines are smooth functions, so
cubics between few points are close to the formula.
"""

_PEN_UP = np.full((1, 2), np.nan)


def level_lines(
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    level: float,
    x_log: bool = False,
    y_log: bool = False,
) -> np.ndarray:
    """Return the path [n, 2] along which `values` [Ny, Nx] equal `level`.

    Rows of NaN separate the pieces of the path. Between grid points, values are interpolated by monotone
    cubics in x and y, or in the logarithm of x or y on a log axis. Near values that are not finite, there is
    no path. If the grid has only one row or column, or if no value crosses the level, the path is empty,
    [0, 2].
    """
    from contourpy import contour_generator  # imported here, because most charts need no contours

    if min(values.shape) < 2:
        return np.empty((0, 2))
    finite = np.where(np.isfinite(values), values, np.nan)  # differences of infinite values would warn
    across, up = (np.log10(at) if log else at for at, log in ((x, x_log), (y, y_log)))
    across, finer = _refined(across, finite.T)
    up, finer = _refined(up, finer.T)
    squares: Any = contour_generator(across, up, np.ma.masked_invalid(finer), name="serial")
    pieces = squares.lines(level)
    if not pieces:
        return np.empty((0, 2))
    path: np.ndarray = np.concatenate([part for piece in pieces for part in (piece, _PEN_UP)][:-1])
    for column, log in enumerate((x_log, y_log)):
        if log:
            path[:, column] = 10.0 ** path[:, column]
    return path


def _refined(places: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a finer grid of places, and the heights at these places, interpolated by cubics.

    Every interval between the places [N] is divided into equal parts, about INTERVALS parts in all.

    Args:
        heights: heights at the places, [N, M].
    """
    count = max(1, INTERVALS // (len(places) - 1))
    if count == 1:
        return places, heights
    widths, shares = np.diff(places), np.arange(count) / count
    t, width = shares[None, :, None], widths[:, None, None]
    low, high = heights[:-1, None], heights[1:, None]
    slopes = _slopes(widths, np.diff(heights, axis=0) / widths[:, None])
    low_slope, high_slope = width * slopes[:-1, None], width * slopes[1:, None]
    # The cubic Hermite polynomial, as a line plus its deviation from it.
    bends = (1 - t) * (low_slope - (high - low)) - t * (high_slope - (high - low))
    between = low + t * (high - low) + t * (1 - t) * bends
    # At a grid point itself, the value is exact also beside one that is not finite.
    between[:, 0] = heights[:-1]
    finer_places = (places[:-1, None] + shares * widths[:, None]).ravel()
    finer = between.reshape(-1, heights.shape[1])
    return np.append(finer_places, places[-1]), np.concatenate([finer, heights[-1:]])


def _slopes(widths: np.ndarray, secants: np.ndarray) -> np.ndarray:
    """Return slopes [N, M] at N grid points, for cubics that are monotone between adjacent points.

    Args:
        widths: lengths of the intervals between the grid points, [N − 1].
        secants: slopes of the values over these intervals, [N − 1, M].

    At an inner point, the slope is that of the parabola through the point and its two neighbours. The slope
    is at most three times the flatter of the two adjacent secants, and 0 at a maximum or minimum. At an end,
    the slope is that of the parabola through the last three points. This slope is at most three times the
    last secant, and 0 if the signs of the parabola's slope and the secant differ.

    Source: Fritsch, Carlson 1980.
    """
    if len(widths) == 1:
        return np.concatenate([secants, secants])
    first = _end_slope(widths[:2], secants[:2])
    last = _end_slope(widths[:-3:-1], secants[:-3:-1])
    before, after = secants[:-1], secants[1:]
    width_before, width_after = widths[:-1, None], widths[1:, None]
    parabola = (width_after * before + width_before * after) / (width_before + width_after)
    limit = 3 * np.minimum(np.abs(before), np.abs(after))
    inside = np.where(before * after > 0, np.clip(parabola, -limit, limit), 0.0)
    # Beside a missing value, the cubic of the other side continues its secant.
    inside = np.where(np.isfinite(before), np.where(np.isfinite(after), inside, before), after)
    return np.concatenate([first, inside, last])


def _end_slope(widths: np.ndarray, secants: np.ndarray) -> np.ndarray:
    """Return the slopes [1, M] at an end of the grid, from the two intervals next to this end.

    The first entry of `widths` [2] and of `secants` [2, M] belongs to the interval at the end.
    """
    (outer, inner), (secant, next_secant) = widths, secants
    parabola = ((2 * outer + inner) * secant - outer * next_secant) / (outer + inner)
    limit = 3 * np.abs(secant)
    slope = np.where(parabola * secant > 0, np.clip(parabola, -limit, limit), 0.0)
    return np.where(np.isfinite(next_secant), slope, secant)[None]
