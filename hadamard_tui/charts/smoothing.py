"""Running means of long growing curves, without adding up the same points twice."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np


class Sums:
    """The sums of the first so many points of a growing curve."""

    def __init__(self) -> None:
        self._buffer: object = None
        self._sums = np.zeros(1)
        self._count = 0

    def mean(self, y: np.ndarray, at: np.ndarray, half: int) -> np.ndarray:
        """The mean of y[i − h … i + h] for every i in `at`, h = `half`, or less towards the ends of y.

        y may grow from call to call; what it held must stay.
        """
        buffer = y if y.base is None else y.base
        if buffer is not self._buffer:
            self._buffer, self._count = buffer, 0
        if len(y) > self._count:
            if len(y) >= len(self._sums):
                self._sums = np.resize(self._sums, 2 * len(y) + 1)
                self._sums[0] = 0.0
            new = self._sums[self._count + 1 : len(y) + 1]
            np.cumsum(y[self._count :], out=new)
            new += self._sums[self._count]
            self._count = len(y)
        reach = np.minimum(half, np.minimum(at, len(y) - 1 - at))
        mean: np.ndarray = (self._sums[at + reach + 1] - self._sums[at - reach]) / (2 * reach + 1)
        return mean


_of: WeakKeyDictionary[object, dict[str, Sums]] = WeakKeyDictionary()


def smoothed(owner: object, name: str, y: np.ndarray, at: np.ndarray, half: int) -> np.ndarray:
    """The running mean of a curve of `owner`, at the positions `at`."""
    return _of.setdefault(owner, {}).setdefault(name, Sums()).mean(y, at, half)
