"""Running means of long growing curves, without adding up the same points twice."""

from __future__ import annotations

import numpy as np

from hadamard_tui.charts.buffer_cache import BufferCache


class Sums:
    """Cumulative sums of a growing curve, and of its number of points without NaN."""

    def __init__(self) -> None:
        self._sums = np.zeros((2, 1))
        self._count = 0

    def mean(self, y: np.ndarray, at: np.ndarray, half: int) -> np.ndarray:
        """Return the mean of y[i − h … i + h] for every i in `at`, h = `half`, or of less near the ends of y.

        y may grow from call to call; earlier values must stay. NaN stays NaN.
        """
        if len(y) > self._count:
            self._add(y)
        reach = np.minimum(half, np.minimum(at, len(y) - 1 - at))
        total, points = self._sums[:, at + reach + 1] - self._sums[:, at - reach]
        with np.errstate(invalid="ignore"):
            return np.where(np.isnan(y[at]), np.nan, total / points)

    def _add(self, y: np.ndarray) -> None:
        if len(y) >= self._sums.shape[1]:
            longer = np.zeros((2, 2 * len(y) + 1))
            longer[:, : self._count + 1] = self._sums[:, : self._count + 1]
            self._sums = longer
        defined = ~np.isnan(y[self._count :])
        new = np.stack([np.where(defined, y[self._count :], 0.0), defined])
        begin, end = self._count, len(y)
        self._sums[:, begin + 1 : end + 1] = np.cumsum(new, axis=1) + self._sums[:, begin, None]
        self._count = end


_of = BufferCache(Sums)


def smoothed(y: np.ndarray, at: np.ndarray, half: int) -> np.ndarray:
    """Return the running mean of a curve at the positions `at`.

    Args:
        y: a slice from the start of a buffer that grows, whose sums are remembered.
    """
    return _of.of(y).mean(y, at, half)
