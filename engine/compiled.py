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


class Loops(NamedTuple):
    """What is compiled for a motion; every loop goes over members `begin` … `end`, `group` per replica."""

    sweep: Callable[[Members, Examples, Records, int, int, int], None]
    """Have them meet the examples."""
    balance: Callable[[Members, Array, float, Array, int, int, int], None]
    """(members, labels, tie, right, …): how many of Sylvester's rows are right, less those that are wrong.

    Labels [B, d] are those of the rows in their own order; up to `tie` from 0 is neither. Predictions are a
    fast transform: at every stage sums and differences of neighbours become the halves of the next vector.
    """


def loops(motion: Motion, signed: bool, dtype: str) -> Loops:
    """The loops of a motion with one half, or two if `signed`; each is compiled when it is first called."""
    return _loops(motion.factors, motion.power == 2, signed, dtype)


@cache
def _loops(factors: Factors, squared: bool, signed: bool, dtype: str) -> Loops:
    from numba import njit

    pair: Any = njit(factors)
    number = getattr(np, dtype)

    @njit(fastmath=LOOSE)
    def weight(a: Any, b: Any) -> Any:
        if squared:
            a, b = a * a, b * b
        return a - b if signed else a

    @njit(fastmath=LOOSE)
    def assemble(m: Any, member: int, w: Any) -> None:
        for j in range(len(w)):
            w[j] = weight(m.a[member, j], m.b[member, j])
        for r in range(m.places.shape[1]):
            w[m.places[member, r]] = weight(m.a_apart[member, r], m.b_apart[member, r])

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
                    assemble(m, member, records.kept[records.slots[step], member // records.stride])
            m.ahead[member] = ahead

    @njit(fastmath=LOOSE, nogil=True)
    def balance(m: Any, labels: Any, tie: float, right: Any, begin: int, end: int, group: int) -> None:
        d, limit = labels.shape[1], number(tie)
        before, after = np.empty(d, labels.dtype), np.empty(d, labels.dtype)
        for member in range(begin, end):
            assemble(m, member, after)
            size = 1
            while size < d:
                before, after = after, before
                sums, differences = after[: d // 2], after[d // 2 :]
                for j in range(d // 2):
                    sums[j] = before[2 * j] + before[2 * j + 1]
                    differences[j] = before[2 * j] - before[2 * j + 1]
                size *= 2
            label, total = labels[member], np.int32(0)
            for j in range(d):
                margin = after[j] * label[j]
                total += np.int32(margin > limit) - np.int32(margin < -limit)
            right[member] = total

    return Loops(sweep, balance)
