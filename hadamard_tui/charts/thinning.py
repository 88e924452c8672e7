"""Choose the points of a long growing curve that a chart needs: all if they are few, else extremes."""

from __future__ import annotations

import numpy as np

from hadamard_tui.charts.buffer_cache import BufferCache

BLOCKS = (8, 64, 512, 4096)
"""Neighbouring points that are replaced by the lowest and the highest of them."""

ENOUGH = 512
"""Least number of blocks of a stretch: each is narrower than a dot of a screen of 250 columns."""

SHORT = BLOCKS[0] * ENOUGH
"""A shorter stretch keeps all its points."""


class Thinning:
    """Remembers the extremes of every full block, so that a redraw does not look at every point."""

    def __init__(self) -> None:
        self._extremes: dict[int, np.ndarray] = {}

    def pick(self, y: np.ndarray, first: int, last: int) -> np.ndarray:
        """Increasing positions in y[first:last] between which nothing is missed that a chart could show.

        y may grow from call to call; what it held must stay.
        """
        block = max((size for size in BLOCKS if (last - first) // size >= ENOUGH), default=1)
        if block == 1:
            return np.arange(first, last)
        extremes = self._grown(y, block, last)
        begin, end = -(-first // block), last // block
        return np.concatenate(
            [np.arange(first, begin * block), extremes[begin:end].ravel(), np.arange(end * block, last)]
        )

    def _grown(self, y: np.ndarray, block: int, last: int) -> np.ndarray:
        """Return the positions of the extremes of all full blocks up to `last`, [blocks, 2]."""
        extremes = self._extremes.get(block, np.empty((0, 2), dtype=np.intp))
        done, full = len(extremes), last // block
        if full > done:
            new = y[done * block : full * block].reshape(-1, block)
            gap = np.isnan(new)
            low, high = (np.where(gap, end, new) if gap.any() else new for end in (np.inf, -np.inf))
            positions = np.stack([low.argmin(1), high.argmax(1)], axis=1)
            positions.sort(axis=1)
            extremes = np.concatenate([extremes, positions + np.arange(done, full)[:, None] * block])
            self._extremes[block] = extremes
        return extremes


_of = BufferCache(Thinning)


def thinned(x: np.ndarray, y: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return positions of the points of y to draw between x = `low` and `high`, and one beyond on each side.

    Args:
        x: increasing, or `low` and `high` are infinite.
        y: a slice from the start of a buffer that grows, whose extremes are remembered.
    """
    first = max(int(np.searchsorted(x, low)) - 1, 0)
    last = min(int(np.searchsorted(x, high, side="right")) + 1, len(x))
    return _of.of(y).pick(y, first, last) if last - first >= SHORT else np.arange(first, last)
