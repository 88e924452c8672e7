"""What is compiled: loops over weight vectors that stay in the cache while examples of ±1 pass over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.motion import Factors, Motion

LOOSE = {"reassoc", "nsz", "arcp", "contract"}
"""What the compiler may assume of numbers: sums in any order, but infinities and NaN stay what they are."""

Array = Any
"""An array of numpy; the compiler finds out its dtype and dimensions by itself."""


class Members(NamedTuple):
    """B weight vectors w = a^L − b^L on their way through the examples."""

    a: Array
    """[B, d], but 0 where w* is not."""
    b: Array
    """[B, d], the same of the other half; where there is none, a once more."""
    a_apart: Array
    """[B, r], a where w* is not 0."""
    b_apart: Array
    """[B, r], b there; where there is none, a_apart once more."""
    places: Array
    """[B, r], where w* is not 0."""
    sizes: Array
    """[B, r], w* there."""
    labels: Array
    """[B, n]."""
    rates: Array
    """[B]."""
    ahead: Array
    """[B], the prediction of the next example."""


class Examples(NamedTuple):
    """K examples and the one after them for R replicas, each the Kronecker product of two vectors of ±1."""

    first: int
    """The number of the first of them, by which labels are found."""
    high: Array
    """[R, K + 1, d / width]."""
    low: Array
    """[R, K + 1, width]."""


class Records(NamedTuple):
    """What is written down after every example."""

    losses: Array
    """[B, K], ‖w − w*‖²."""
    slots: Array
    """[K], where in `kept` the weights after an example belong; −1: nowhere."""
    kept: Array
    """[slots, V, d], weights of the first replica's members number 0, `stride`, 2 · `stride` …"""
    stride: int


def loop(motion: Motion, signed: bool, dtype: str) -> Callable[..., None]:
    """(members, examples, records, begin, end, group): go on with members begin … end, `group` per replica.

    It is compiled when it is first called, for motions with one half or, if `signed`, two.
    """
    return _loop(motion.factors, motion.power == 2, signed, dtype)


@cache
def _loop(factors: Factors, squared: bool, signed: bool, dtype: str) -> Callable[..., None]:
    from numba import njit

    pair: Any = njit(factors)
    number = getattr(np, dtype)

    @njit(fastmath=LOOSE)
    def weight(a: Any, b: Any) -> Any:
        if squared:
            a, b = a * a, b * b
        return a - b if signed else a

    @njit(fastmath=LOOSE, inline="always")
    def run(a: Any, b: Any, x: Any, then: Any, yes: Any, no: Any) -> Any:
        """A step on consecutive weights; their sum of squares, and their product with the next example."""
        square, product = number(0), number(0)
        for j in range(len(x)):
            a[j] *= yes if x[j] > 0 else no
            if signed:
                b[j] *= no if x[j] > 0 else yes
            w = weight(a[j], b[j])
            square += w * w
            product += w * then[j]
        return square, product

    @njit(fastmath=LOOSE, nogil=True)
    def sweep(m: Any, examples: Any, records: Any, begin: int, end: int, group: int) -> None:
        steps, width, blocks = records.losses.shape[1], examples.low.shape[2], examples.high.shape[2]
        for member in range(begin, end):
            high, low = examples.high[member // group], examples.low[member // group]
            a, b, a_apart, b_apart = m.a[member], m.b[member], m.a_apart[member], m.b_apart[member]
            places, sizes, labels = m.places[member], m.sizes[member], m.labels[member]
            losses, rate, ahead = records.losses[member], m.rates[member], m.ahead[member]
            watched = member < group and member % records.stride == 0
            for step in range(steps):
                up, down = pair(2.0 * (ahead - labels[examples.first + step]), rate)
                up, down = number(up), number(down)
                square, ahead = 0.0, 0.0
                for block in range(blocks):
                    yes, no = (up, down) if high[step, block] > 0 else (down, up)
                    part = slice(block * width, (block + 1) * width)
                    squares, product = run(a[part], b[part], low[step], low[step + 1], yes, no)
                    square += squares
                    ahead += product * high[step + 1, block]
                for r in range(len(places)):
                    block, j = places[r] // width, places[r] % width
                    yes, no = (up, down) if high[step, block] * low[step, j] > 0 else (down, up)
                    a_apart[r] *= yes
                    if signed:
                        b_apart[r] *= no
                    w = weight(a_apart[r], b_apart[r])
                    square += (w - sizes[r]) ** 2
                    ahead += w * (high[step + 1, block] * low[step + 1, j])
                losses[step] = square
                if watched and records.slots[step] >= 0:
                    kept = records.kept[records.slots[step], member // records.stride]
                    for j in range(len(kept)):
                        kept[j] = weight(a[j], b[j])
                    for r in range(len(places)):
                        kept[places[r]] = weight(a_apart[r], b_apart[r])
            m.ahead[member] = ahead

    return sweep


@cache
def counter(dtype: str) -> Callable[..., None]:
    """(weights, labels, tie, right, begin, end, group) for members begin … end of weights [B, d].

    right [B] becomes the number of Sylvester's rows, with ±1 labels [B, d] in their own order, that are
    predicted on the side of their label, less that of the others; up to `tie` from 0 is neither. Predictions
    are a fast transform: at every stage sums and differences of neighbours become the halves of the next.
    """
    from numba import njit

    number = getattr(np, dtype)

    @njit(fastmath=LOOSE, nogil=True)
    def count(weights: Any, labels: Any, tie: float, right: Any, begin: int, end: int, group: int) -> None:
        d, limit = weights.shape[1], number(tie)
        before, after = np.empty(d, weights.dtype), np.empty(d, weights.dtype)
        for member in range(begin, end):
            for j in range(d):
                after[j] = weights[member, j]
            size = 1
            while size < d:
                before, after = after, before
                sums, differences = after[: d // 2], after[d // 2 :]
                for j in range(d // 2):
                    sums[j] = before[2 * j] + before[2 * j + 1]
                    differences[j] = before[2 * j] - before[2 * j + 1]
                size *= 2
            label, balance = labels[member], np.int32(0)
            for j in range(d):
                margin = after[j] * label[j]
                balance += np.int32(margin > limit) - np.int32(margin < -limit)
            right[member] = balance

    return count
