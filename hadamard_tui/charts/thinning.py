"""The points of a long growing curve that a chart needs: all of a short stretch, extremes of a long one."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

BLOCK = 64
"""So many neighbouring points are replaced by the lowest and the highest of them."""

MOST = 512 * BLOCK
"""Stretches of fewer points are left as they are: they cost little, and a block would be wider than a dot."""


class Thinning:
    """Remembers where the extremes of every full block are, so that a redraw does not look at every point."""

    def __init__(self) -> None:
        self._buffer: object = None
        self._extremes = np.empty((0, 2), dtype=np.intp)

    def pick(self, y: np.ndarray, first: int, last: int) -> np.ndarray:
        """Increasing positions in y[first:last] between which nothing is missed that a chart could show.

        y may grow from call to call; what it held must stay.
        """
        if last - first <= MOST:
            return np.arange(first, last)
        buffer = y if y.base is None else y.base
        if buffer is not self._buffer:
            self._buffer, self._extremes = buffer, self._extremes[:0]
        done, full = len(self._extremes), last // BLOCK
        if full > done:
            blocks = y[done * BLOCK : full * BLOCK].reshape(-1, BLOCK)
            found = np.stack([blocks.argmin(1), blocks.argmax(1)], axis=1)
            found.sort(axis=1)
            self._extremes = np.concatenate([self._extremes, found + np.arange(done, full)[:, None] * BLOCK])
        begin, end = -(-first // BLOCK), last // BLOCK
        return np.concatenate(
            [np.arange(first, begin * BLOCK), self._extremes[begin:end].ravel(), np.arange(end * BLOCK, last)]
        )


_of: WeakKeyDictionary[object, dict[str, Thinning]] = WeakKeyDictionary()


def thinned(owner: object, name: str, x: np.ndarray, y: np.ndarray, low: float, high: float) -> np.ndarray:
    """Positions of the points of y to draw between x = `low` and `high`, and one beyond on each side.

    Args:
        owner: whose curve it is; what is remembered of it goes when its owner goes.
        name: which of its curves.
        x: increasing.
    """
    first = max(int(np.searchsorted(x, low)) - 1, 0)
    last = min(int(np.searchsorted(x, high, side="right")) + 1, len(x))
    return _of.setdefault(owner, {}).setdefault(name, Thinning()).pick(y, first, last)
