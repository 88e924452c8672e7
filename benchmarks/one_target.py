"""J3's outsiders: one long vector of signed weights by a fused loop, and what the memory can do at most.

`signed` is what an expert writes in numba for EGU± and one target among d features: 32 features side by
side in SIMD registers, signs of an example as a product of 32 signs for the lanes, 1024 for the rows of a
block and one for the block, which need no memory of size d; one pass over both halves for every example, in
which the step, the next prediction and ‖w‖² are made at once, in float32. Losses are ‖w‖² − 2 w_t + 1. An
example reads and writes 16 bytes a feature, and does seven operations for 16 of them: 0.08 ns a feature and
example where the weights are in the cache (2²⁰), 0.35 where they are not (2²⁴). It was tried for half an
hour.

`bandwidth` is that of a ← b + s c over three arrays of d numbers, again by such vectors. Times are divided
by the time that the bytes of the weights would take at it, read and written once for every example.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from vectors import LANES, fma, full, load, mul, store, sub

OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}, "nogil": True}
BLOCK = 1024
"""Rows of lanes that share a table of signs."""


@njit(**OPTIONS)
def _parity(x: int) -> int:
    for shift in (32, 16, 8, 4, 2, 1):
        x ^= x >> shift
    return x & 1


@njit(**OPTIONS)
def _signs(number: int, sign: float, low: Any, lanes: Any, blocks: Any) -> None:
    """Row `number` of Sylvester's matrix times its sign, as the signs of blocks, of rows and of lanes."""
    for lane in range(LANES):
        lanes[0, lane] = 1 - 2 * _parity(number & lane)
    for row in range(len(low)):
        low[row] = 1 - 2 * _parity(number & row * LANES)
    for block in range(len(blocks)):
        blocks[block] = sign * (1 - 2 * _parity(number & block * BLOCK * LANES))


@njit(**OPTIONS)
def signed(numbers: Any, signs: Any, d: int, target: int, lr: float) -> Any:
    """EGU± for one target, the losses after every example."""
    rows = d // LANES
    a, b = np.full((rows, LANES), np.float32(0.5 / d)), np.full((rows, LANES), np.float32(0.5 / d))
    size = min(BLOCK, rows)
    low, low_next = np.ones(size, np.float32), np.ones(size, np.float32)
    lanes, lanes_next = np.ones((1, LANES), np.float32), np.ones((1, LANES), np.float32)
    blocks, blocks_next = np.ones(rows // size, np.float32), np.ones(rows // size, np.float32)
    sums, losses, c, s = np.empty((2, LANES), np.float32), np.empty(len(numbers) + 1), 1.0, 0.0
    for k in range(len(numbers) + 1):
        after = min(k, len(numbers) - 1)
        _signs(numbers[after], signs[after], low_next, lanes_next, blocks_next)
        both, change = full(np.float32(c)), mul(load(lanes, 0), full(np.float32(s)))
        dot, square = 0.0, 0.0
        for block in range(len(blocks)):
            step = mul(change, full(blocks[block]))
            dots, squares = full(np.float32(0)), full(np.float32(0))
            for row in range(size):
                i, moved = block * size + row, mul(step, full(low[row]))
                x, y = load(a, i), load(b, i)
                x, y = fma(x, moved, mul(x, both)), sub(mul(y, both), mul(y, moved))
                store(a, i, x)
                store(b, i, y)
                x = sub(x, y)
                dots, squares = fma(x, full(low_next[row]), dots), fma(x, x, squares)
            store(sums, 0, mul(dots, load(lanes_next, 0)))
            store(sums, 1, squares)
            for lane in range(LANES):
                dot += blocks_next[block] * sums[0, lane]
                square += sums[1, lane]
        w_t = a[target // LANES, target % LANES] - b[target // LANES, target % LANES]
        losses[k] = square - 2 * w_t + 1
        label = signs[after] * (1 - 2 * _parity(numbers[after] & target))
        up = np.exp(-2 * lr * (dot - label))
        c, s = (up + 1 / up) / 2, (up - 1 / up) / 2
        low[:], lanes[:], blocks[:] = low_next, lanes_next, blocks_next
    return losses


@njit(**OPTIONS)
def _triad(a: Any, b: Any, c: Any, s: float) -> None:
    times = full(np.float32(s))
    for row in range(len(a)):
        store(a, row, fma(load(c, row), times, load(b, row)))


def bandwidth(d: int, repeats: int = 10) -> float:
    """Bytes a second of a ← b + s c in d numbers of float32, the best of some repeats."""
    a, b, c = (np.ones((d // LANES, LANES), np.float32) for _ in range(3))
    _triad(a, b, c, 2.0)
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        _triad(a, b, c, 2.0)
        best = min(best, time.process_time() - start)
    return 3 * a.nbytes / best


def curve(numbers: NDArray[np.int64], signs: NDArray[np.float32], d: int, lr: float) -> NDArray[np.float64]:
    """Losses of EGU± after 0, 1 … of these rows of Sylvester's matrix, for feature number 3."""
    losses: NDArray[np.float64] = signed(numbers, signs, d, 3, lr)
    return losses
