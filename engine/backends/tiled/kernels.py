"""What is compiled: passes over the weights that take several examples of ±1 at once.

Examples x₁ … x_b tell features apart by 2^b patterns of signs, and multiply all weights of one pattern alike.
The sums of w and of w² over each pattern are therefore all it takes to know every prediction and every loss
among them. One pass multiplies each weight by the product of its factors in the last b examples, and sums the
weights by the patterns of the next b. It reads tiles of segments (`tiles.py`), all SIMD lanes alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numba.core.compiler import Compiler

LANES = 128
"""SIMD lanes: segments in a tile. Fewer cost more for signed weights, whose rows of 256 bytes collide."""

Function = TypeVar("Function", bound=Callable[..., Any])

Array = Any
"""An array of numpy; the compiler finds out its dtype and dimensions by itself."""


class Members(NamedTuple):
    """R replicas of B weight vectors w = a − b on their way through examples, as G tiles of segments.

    Where x_i is ±1, a step along c x multiplies a_i by the factor of that sign, and b_i by that of the other.
    For a `MultiplicativeStep` of power 2 these are the squares of its a and b, and of its factors.
    """

    a: Array
    """[R·G, m, LANES], but 0 where w* is not."""
    b: Array
    """The same of the other half, or None."""
    a_apart: Array
    """[R, B, r], a where w* is not 0."""
    b_apart: Array
    """The same of b; 0 if there is none."""
    places: Array
    """[R, B, r, 2], where w* is not 0: the segment, and the place in it."""
    sizes: Array
    """[R, B, r], w* there."""
    rates: Array
    """[R, B], η."""
    exponential: bool
    """Factors are e^(∓η c), else 1 ∓ η c …"""
    squared: bool
    """… or the squares of that."""
    per_tile: int
    """Members in a tile; the segments of one of them lie so many lanes apart."""
    sums: Array
    """[R·G, 5, 2^b + 1, LANES], by the patterns of the next b examples, of w, w², v = a + b, wv and v².

    The last row is not used: without it the five would begin at one and the same place of a page, where
    writing to one makes reading another wait.
    """


class Examples(NamedTuple):
    """K examples for R replicas, in blocks of b, and the block that comes after them."""

    segment_signs: Array
    """[R, K, c], the signs of segments in them."""
    patterns: Array
    """[R, K/b + 1, m], those of the signs inside a segment."""
    order: Array
    """[R, K/b + 1, m], places in a segment by their patterns: numbers 2k and 2k + 1 have the same."""
    bits: int
    """b."""


class Records(NamedTuple):
    """What is written down after every example."""

    losses: Array
    """[R, K, B], ‖w − w*‖²."""
    slots: Array
    """[K], where in `kept` the weights after an example belong; −1: nowhere."""
    kept: Array
    """[slots, V, d], weights of the first replica's members number 0, `stride`, 2 · `stride` …"""
    stride: int


class Scratch(NamedTuple):
    """Memory for a thread to work in."""

    factors: Array
    """[2^b, LANES], of the patterns of some examples."""
    ups: Array
    """[b, LANES], the factors of the examples of a block where x is +1 inside a segment …"""
    downs: Array
    """[b, LANES], … and where it is −1."""
    ahead: Array
    """[LANES], products with an example."""
    squares: Array
    """[LANES], sums of w²."""
    weights: Array
    """[m, LANES]."""
    counts: Array
    """[LANES], of rows that are right, less those that are wrong."""


class Bare(Compiler):  # type: ignore[misc]
    """Compiles functions whose arrays do not overlap, and that count no references to them."""

    def __init__(self, *context: Any) -> None:
        flags = context[-2]
        flags.noalias, flags.nrt = True, False
        super().__init__(*context)


compiler: Any = njit

OPTIONS = {
    "fastmath": {"reassoc", "nsz", "arcp", "contract"},
    "pipeline_class": Bare,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
"""Sums may be taken in any order, but infinities and NaN stay what they are, and 1/0 is infinite."""

number: Any = np.intp
"""Makes a number that is no literal: what is called with literals is compiled once more for them."""


def part(function: Function) -> Function:
    """Compile a function that others call."""
    compiled: Function = compiler(**OPTIONS, no_cpython_wrapper=True, forceinline=True)(function)
    return compiled


def loop(function: Function) -> Function:
    """Compile a function that Python calls without its lock, and keep it on disk for other processes."""
    compiled: Any = compiler(**OPTIONS, nogil=True)(function)
    with suppress(RuntimeError, AttributeError):  # no folder may be written to, or numba is switched off
        compiled.enable_caching()
    result: Function = compiled
    return result


@part
def touch(
    a: Any, b: Any, a_: Any, b_: Any, g: int, i: int, j: int, f: Any, p: Any, q: Any, flip: int,
    w: Any, ww: Any, v: Any, wv: Any, vv: Any, to: Any,
) -> None:  # fmt: skip
    """Multiply weights i and j by the factors of patterns p and q, and add them to the sums of one pattern.

    Both are of the same a and b, which come twice since the two do not overlap.
    """
    for lane in range(LANES):
        x, x_ = a[g, i, lane] * f[p, lane], a_[g, j, lane] * f[q, lane]
        a[g, i, lane], a_[g, j, lane] = x, x_
        if b is not None:
            y, y_ = b[g, i, lane] * f[flip ^ p, lane], b_[g, j, lane] * f[flip ^ q, lane]
            b[g, i, lane], b_[g, j, lane] = y, y_
            x, y, x_, y_ = x - y, x + y, x_ - y_, x_ + y_
            v[to, lane] += y + y_
            wv[to, lane] += x * y + x_ * y_
            vv[to, lane] += y * y + y_ * y_
        w[to, lane] += x + x_
        ww[to, lane] += x * x + x_ * x_


@part
def carry(m: Any, b: Any, g: int, examples: Any, r: int, block: int, count: int, f: Any) -> None:
    """One pass: multiply by the factors of a block's first `count` examples, and sum for the next block."""
    now, then = examples.patterns[r, block], examples.patterns[r, block + 1]
    shift, flip, sums = examples.bits - count, (1 << count) - 1, m.sums[g]
    w, ww, v, wv, vv = sums[0], sums[1], sums[2], sums[3], sums[4]
    for kind in range(2 if b is None else 5):
        for p in range(1 << examples.bits):
            for lane in range(LANES):
                sums[kind, p, lane] = 0
    for n in range(0, len(now), 2):
        i, j = examples.order[r, block + 1, n], examples.order[r, block + 1, n + 1]
        p, q, to = number(now[i] >> shift), number(now[j] >> shift), number(then[i])
        touch(m.a, b, m.a, b, g, i, j, f, p, q, flip, w, ww, v, wv, vv, to)


@part
def combine(f: Any, ups: Any, downs: Any, count: int) -> None:
    """The factors of the patterns of `count` examples, the last of which is their lowest bit."""
    for lane in range(LANES):
        f[0, lane] = 1
    for k in range(count):
        j, size = count - 1 - k, 1 << k
        for p in range(size):
            for lane in range(LANES):
                f[p + size, lane] = f[p, lane] * downs[j, lane]
                f[p, lane] *= ups[j, lane]


@part
def product(w: Any, half: int, ahead: Any) -> None:
    """Products with the example whose sign is the highest bit of the patterns."""
    for lane in range(LANES):
        ahead[lane] = 0
    for p in range(half):
        for lane in range(LANES):
            ahead[lane] += w[p, lane] - w[p + half, lane]


@part
def fold(
    w: Any, ww: Any, v: Any, wv: Any, vv: Any, b: Any,
    half: int, ups: Any, downs: Any, j: int, squares: Any,
) -> None:  # fmt: skip
    """The sums after example j, whose sign was the highest bit of the patterns; and that of all w².

    With c and s half the sum and half the difference of the factors, w and v become c w ± s v and c v ± s w.
    Where the factors hardly differ nothing cancels, as it would in sums of a², ab and b².
    """
    zero = ww.dtype.type(0)
    for lane in range(LANES):
        squares[lane] = zero
    for p in range(half):
        for lane in range(LANES):
            up, down = ups[j, lane], downs[j, lane]
            w0, w1, ww0, ww1 = w[p, lane], w[p + half, lane], ww[p, lane], ww[p + half, lane]
            if b is not None:
                v0, v1, vv0, vv1 = v[p, lane], v[p + half, lane], vv[p, lane], vv[p + half, lane]
                wv0, wv1 = wv[p, lane], wv[p + half, lane]
                c, s = (up + down) / 2, (up - down) / 2
                w[p, lane] = c * (w0 + w1) + s * (v0 - v1)
                v[p, lane] = c * (v0 + v1) + s * (w0 - w1)
                square = c * c * (ww0 + ww1) + 2 * c * s * (wv0 - wv1) + s * s * (vv0 + vv1)
                square = zero if square < 0 else square  # by rounding; NaN stays
                wv[p, lane] = (c * c + s * s) * (wv0 + wv1) + c * s * (ww0 - ww1 + vv0 - vv1)
                vv[p, lane] = c * c * (vv0 + vv1) + 2 * c * s * (wv0 - wv1) + s * s * (ww0 + ww1)
            else:
                w[p, lane] = up * w0 + down * w1
                square = up * up * ww0 + down * down * ww1
            ww[p, lane] = square
            squares[lane] += square


@part
def positive(m: Any, examples: Any, r: int, step: int, block: int, j: int, member: int, n: int) -> Any:
    """Whether an example, number j of its block, is +1 where a weight that is kept apart belongs."""
    segment, i = m.places[r, member, n, 0], m.places[r, member, n, 1]
    pattern = examples.patterns[r, block, i] >> (examples.bits - 1 - j)
    return (pattern & 1) == (examples.segment_signs[r, step, segment] < 0)


@part
def learn(
    m: Any, examples: Any, losses: Any, r: int, step: int, block: int, j: int, member: int, lane: int, s: Any
) -> None:
    """A member's factors for an example, and the step of the weights kept apart; `fold` steps the sums.

    The loss is that of the weights kept apart alone; `blocked_pass` adds the others'.
    """
    residual = 0.0
    segments = LANES // m.per_tile
    for segment in range(segments):
        residual += examples.segment_signs[r, step, segment] * s.ahead[lane + segment * m.per_tile]
    for n in range(m.sizes.shape[2]):
        error = m.a_apart[r, member, n] - m.b_apart[r, member, n] - m.sizes[r, member, n]
        residual += error if positive(m, examples, r, step, block, j, member, n) else -error
    pull = m.rates[r, member] * 2.0 * residual
    up, down = 1 - pull, 1 + pull
    if m.exponential:
        up = math.exp(-pull)
        down = 1 / up
    if m.squared:
        up, down = up * up, down * down
    for segment in range(segments):
        plus = examples.segment_signs[r, step, segment] > 0
        s.ups[j, lane + segment * m.per_tile] = up if plus else down
        s.downs[j, lane + segment * m.per_tile] = down if plus else up
    loss = 0.0
    for n in range(m.sizes.shape[2]):
        plus = positive(m, examples, r, step, block, j, member, n)
        m.a_apart[r, member, n] *= up if plus else down
        m.b_apart[r, member, n] *= down if plus else up
        loss += (m.a_apart[r, member, n] - m.b_apart[r, member, n] - m.sizes[r, member, n]) ** 2
    losses[r, step, member] = loss


@part
def assemble(
    m: Any, b: Any, g: int, member: int, lane: int, examples: Any, block: int, count: int, f: Any, w: Any
) -> None:
    """The weights of a member of the first replica after the first `count` examples of a block."""
    shift, flip, rows = examples.bits - count, (1 << count) - 1, m.a.shape[1]
    for segment in range(LANES // m.per_tile):
        for i in range(rows):
            p = number(examples.patterns[0, block, i] >> shift)
            weight = m.a[g, i, lane] * f[p, lane]
            if b is not None:
                weight -= b[g, i, lane] * f[flip ^ p, lane]
            w[segment * rows + i] = weight
        lane += m.per_tile
    for n in range(m.sizes.shape[2]):
        place = m.places[0, member, n, 0] * rows + m.places[0, member, n, 1]
        w[place] = m.a_apart[0, member, n] - m.b_apart[0, member, n]


@loop
def blocked_pass(m: Any, examples: Any, records: Any, s: Any, begin: int, end: int) -> None:
    """Have the members in tiles `begin` … `end` learn K examples; for K = 0 only sum for the first block."""
    bits, tiles = examples.bits, len(m.a) // len(m.sizes)
    steps = records.losses.shape[1]
    for g in range(begin, end):
        r, first = g // tiles, g % tiles * m.per_tile
        last = min(m.sizes.shape[1], first + m.per_tile)
        w, ww, v, wv, vv = m.sums[g, 0], m.sums[g, 1], m.sums[g, 2], m.sums[g, 3], m.sums[g, 4]
        block, j = number(-1), number(0)
        for step in range(steps + 1):
            if j == bits or step == steps:
                combine(s.factors, s.ups, s.downs, j)
                carry(m, m.b, g, examples, r, block, j, s.factors)
                j = 0
            if step < steps:
                block = step // bits
                half = 1 << (bits - 1 - j)
                product(w, half, s.ahead)
                for member in range(first, last):
                    learn(m, examples, records.losses, r, step, block, j, member, member - first, s)
                fold(w, ww, v, wv, vv, m.b, half, s.ups, s.downs, j, s.squares)
                for member in range(first, last):
                    for lane in range(member - first, LANES, m.per_tile):
                        records.losses[r, step, member] += s.squares[lane]
                j += 1
                if r == 0 and records.slots[step] >= 0:
                    combine(s.factors, s.ups, s.downs, j)
                    for member in range(first, last):
                        if member % records.stride == 0:
                            kept = records.kept[records.slots[step], member // records.stride]
                            assemble(m, m.b, g, member, member - first, examples, block, j, s.factors, kept)


@part
def cross(x: Any, y: Any) -> None:
    """Sums and differences."""
    for i in range(len(x)):
        x[i], y[i] = x[i] + y[i], x[i] - y[i]


@part
def cross_twice(x: Any, y: Any, z: Any, t: Any, i: int, stride: int) -> None:
    """Two stages for rows i, i + stride … of one array, which comes four times as they do not overlap."""
    j, k, n = i + stride, i + 2 * stride, i + 3 * stride
    for lane in range(LANES):
        p, q = x[i, lane] + y[j, lane], x[i, lane] - y[j, lane]
        u, v = z[k, lane] + t[n, lane], z[k, lane] - t[n, lane]
        x[i, lane], y[j, lane], z[k, lane], t[n, lane] = p + u, q + v, p - u, q - v


@part
def transform(x: Any, per_tile: int) -> None:
    """The products of Sylvester's rows with the weight vectors of a tile [m, LANES], in their place."""
    for i in range(len(x)):
        apart = per_tile
        while apart < LANES:
            for lane in range(0, LANES, 2 * apart):
                cross(x[i, lane : lane + apart], x[i, lane + apart : lane + 2 * apart])
            apart *= 2
    stride = number(1)
    while 2 * stride < len(x):
        for base in range(0, len(x), 4 * stride):
            for i in range(base, base + stride):
                cross_twice(x, x, x, x, i, stride)
        stride *= 4
    if stride < len(x):
        for i in range(stride):
            cross(x[i], x[i + stride])


@part
def compare(x: Any, sides: Any, g: int, i: int, tie: Any, counts: Any) -> None:
    """Count predictions of a row on the side of its label, less those on the other."""
    one, none = x.dtype.type(1), x.dtype.type(0)
    for lane in range(LANES):
        margin = x[i, lane] * sides[g, i, lane]
        counts[lane] += (one if margin > tie else none) - (one if margin < -tie else none)


@part
def difference(a: Any, b: Any, g: int, i: int, x: Any) -> None:
    """Weights number i of a tile."""
    for lane in range(LANES):
        x[i, lane] = a[g, i, lane] - b[g, i, lane] if b is not None else a[g, i, lane]


@loop
def right_minus_wrong(m: Any, sides: Any, tie: float, right: Any, s: Any, begin: int, end: int) -> None:
    """How many of Sylvester's rows are right, less those that are wrong, for the members of some tiles.

    Sides [R·G, m, LANES] are the labels ±1 of the rows in their own order; up to `tie` from 0 is neither.
    """
    tiles, rows = len(m.a) // len(m.sizes), m.a.shape[1]
    x = s.weights
    for g in range(begin, end):
        r, first = g // tiles, g % tiles * m.per_tile
        last = min(m.sizes.shape[1], first + m.per_tile)
        for i in range(rows):
            difference(m.a, m.b, g, i, x)
        for member in range(first, last):
            for n in range(m.sizes.shape[2]):
                lane = member - first + m.places[r, member, n, 0] * m.per_tile
                x[m.places[r, member, n, 1], lane] = m.a_apart[r, member, n] - m.b_apart[r, member, n]
        transform(x, m.per_tile)
        s.counts[:] = 0
        for i in range(rows):
            compare(x, sides, g, i, x.dtype.type(tie), s.counts)
        for member in range(first, last):
            right[r, member] = 0
            for lane in range(member - first, LANES, m.per_tile):
                right[r, member] += s.counts[lane]
