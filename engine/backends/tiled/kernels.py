"""What is compiled: passes over the weights that take several examples of ±1 at once.

Examples x₁ … x_b separate features by 2^b patterns of signs, and multiply all weights of one pattern alike.
The sums of w and of w² over each pattern are therefore all it takes to know every prediction and every loss
among them. One pass multiplies each weight by the product of its factors in the last b examples, and sums the
weights by the patterns of the next b, pattern by pattern, so that sums stay in registers. It reads tiles of
segments (`tiles.py`), all SIMD lanes alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numba.core.compiler import Compiler

from engine.backends.loops import keep
from engine.backends.tiled import vectors
from engine.backends.tiled.vectors import (
    LANES,
    above,
    add,
    div,
    double,
    exp,
    fma,
    full,
    load,
    load_as,
    mul,
    positive,
    rounded,
    store,
    sub,
    where,
)

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
    """[R·G, r, LANES], a where w* is not 0, in the lane of every segment of a member."""
    b_apart: Array
    """The same of b, or None."""
    segments: Array
    """[R·G, r, LANES], where w* is not 0: the segment …"""
    places: Array
    """[R·G, r, LANES], … and the place in it."""
    sizes: Array
    """[R·G, r, LANES], w* there."""
    rates: Array
    """[R·G, LANES], 2 s η: what multiplies a residual, in float64."""
    exponential: bool
    """Factors are e^(∓s η c), else 1 ∓ s η c …"""
    squared: bool
    """… or the squares of that."""
    per_tile: int
    """Members in a tile; the segments of one of them lie so many lanes apart."""
    sums: Array
    """[R·G, C, KINDS, 2^b, LANES], by the patterns of the next b examples, of w, w², v = a + b, wv and v².

    Parts are in C chunks, each with its sums, so that several threads can take them; C depends on d alone.
    """


class Examples(NamedTuple):
    """K examples for R replicas, in blocks of b, and the block that comes after them.

    A segment is cut into parts of P places. The pattern of a weight is the exclusive or of those of its
    segment, its part and its place.
    """

    segments: Array
    """[R, K/b + 1, c], in which bits the patterns of a segment differ from those of places inside it."""
    parts: Array
    """[R, K/b + 1, m/P], the same of a part of a segment."""
    patterns: Array
    """[R, K/b + 1, P], those of the places inside a part."""
    order: Array
    """[R, K/b + 1, P], places in a part by their patterns …"""
    begins: Array
    """[R, K/b + 1, 2^b + 1], … and where in this order each of them begins."""
    bits: int
    """b."""


class Records(NamedTuple):
    """What is written down after every example."""

    losses: Array
    """[K, R, B], ‖w − w*‖²."""
    slots: Array
    """[K + 1], where in `kept` the weights after so many examples belong; −1: nowhere."""
    kept: Array
    """[slots, V, d], weights of the first replica's members number 0, `stride`, 2 · `stride` …"""
    stride: int
    counted: Array
    """[K + 1], where in `right` the same of their predictions belongs; −1: nowhere."""
    right: Array
    """[counts, R, B], how many of Sylvester's rows are right, less those that are wrong."""
    sides: Array
    """[R·G, m, LANES], the labels ±1 of the rows in their own order."""
    tie: float
    """A prediction up to so far from 0 is neither right nor wrong."""


class Scratch(NamedTuple):
    """Memory for a thread to work in."""

    factors: Array
    """[2^b, LANES], of the patterns of some examples."""
    ups: Array
    """[b, LANES], the factors of the examples of a block where x is +1 inside a segment …"""
    downs: Array
    """[b, LANES], … and where it is −1."""
    patterns: Array
    """[LANES], of the signs in a block."""
    signs: Array
    """[b, LANES], the signs of segments in the examples of a block."""
    apart: Array
    """[b, r, LANES], the examples of a block where w* is not 0."""
    products: Array
    """[LANES], products with an example."""
    squares: Array
    """[LANES], sums of w²."""
    losses: Array
    """[LANES], of the weights kept apart, in float64."""
    weights: Array
    """[m, LANES], where predictions are to be counted."""


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

KINDS = 5
"""Sums that are kept of signed weights; of others the first two are used."""

PLACES = 1 << 10
"""A part of a segment holds at most so many weights: it is to stay in the cache."""

number: Any = np.intp
"""Makes a number that is no literal: what is called with literals is compiled once more for them."""

count_of: Any = np.uintp
"""Makes a number without a sign, with which arrays are read without a look whether it counts from the end."""


def part(function: Function) -> Function:
    """Compile a function that others call."""
    compiled: Function = compiler(**OPTIONS, no_cpython_wrapper=True, forceinline=True)(function)
    return compiled


def loop(function: Function) -> Function:
    """Compile a function that Python calls without its lock, and keep it on disk for other processes.

    What is kept is made anew when this file changes, and here also when that of the vectors does.
    """
    compiled: Any = compiler(**OPTIONS, nogil=True)(function)
    keep(compiled, Path(vectors.__file__))
    result: Function = compiled
    return result


@part
def parity(x: int) -> int:
    """Whether an odd number of the bits of a whole number are set."""
    for shift in (32, 16, 8, 4, 2, 1):
        x ^= x >> shift
    return x & 1


@loop
def arrange(numbers: Array, signs: Array, rows: int, examples: Any) -> None:
    """Fill in what examples are made of, rows of Sylvester's matrix by their numbers and signs [R, K + 2b].

    Entry i of row h is (−1)^popcount(h & i): the pattern of i is the exclusive or of those of its bits.
    """
    patterns, parts, order = examples.patterns, examples.parts, examples.order
    begins, bits, places = examples.begins, examples.bits, examples.patterns.shape[2]
    for r in range(len(patterns)):
        for block in range(patterns.shape[1]):
            for segment in range(examples.segments.shape[2]):
                here = number(0)
                for step in range(block * bits, block * bits + bits):
                    odd = parity(numbers[r, step] & segment * rows)
                    here = 2 * here + (odd if signs[r, step] > 0 else 1 - odd)
                examples.segments[r, block, segment] = here
            patterns[r, block, 0] = parts[r, block, 0] = 0
            size = number(1)
            while size < rows:
                here = number(0)
                for j in range(bits):
                    here = 2 * here + (1 if numbers[r, block * bits + j] & size else 0)
                if size < places:
                    for i in range(size):
                        patterns[r, block, size + i] = patterns[r, block, i] ^ here
                else:
                    for i in range(size // places):
                        parts[r, block, size // places + i] = parts[r, block, i] ^ here
                size *= 2
            begins[r, block] = 0
            for i in range(places):
                begins[r, block, patterns[r, block, i]] += 1
            total = number(0)
            for p in range(1 << bits):
                total += begins[r, block, p]
                begins[r, block, p] = total
            begins[r, block, 1 << bits] = total
            for i in range(places - 1, -1, -1):
                p = patterns[r, block, i]
                begins[r, block, p] -= 1
                order[r, block, begins[r, block, p]] = i


@part
def carry(
    m: Any, b: Any, g: int, examples: Any, r: int, block: int, count: int, f: Any, chunk: int, parts: int
) -> None:
    """One pass: multiply by the factors of a block's first `count` examples, and sum for the next block.

    Over the parts of a chunk. Of the weights of one pattern there are an even number.
    """
    of_chunk = number((g * m.sums.shape[1] + chunk) * KINDS << examples.bits)
    none = full(m.a.dtype.type(0))
    for row in range(of_chunk, of_chunk + ((2 if b is None else KINDS) << examples.bits)):
        store(m.sums, row, none)
    now, after, kinds = examples.patterns[r, block], block + 1, 1 << examples.bits
    order, begins, sums = examples.order[r, after], examples.begins[r, after], m.sums
    shift, flip, places = count_of(examples.bits - count), count_of((1 << count) - 1), len(now)
    for part in range(chunk * parts, (chunk + 1) * parts):
        differs, base = count_of(examples.parts[r, block, part]), count_of(g * m.a.shape[1] + part * places)
        for low in range(kinds):
            begin, end = count_of(begins[low]), count_of(begins[low + 1])
            if begin == end:
                continue
            to = of_chunk + (low ^ examples.parts[r, after, part])
            w, ww = load(sums, to), load(sums, to + kinds)
            if b is None:
                w_, ww_ = full(m.a.dtype.type(0)), full(m.a.dtype.type(0))
                for n in range(begin, end, count_of(2)):
                    i, j = count_of(order[n]), count_of(order[n + count_of(1)])
                    p, q = (count_of(now[i]) ^ differs) >> shift, (count_of(now[j]) ^ differs) >> shift
                    x, y = mul(load(m.a, base + i), load(f, p)), mul(load(m.a, base + j), load(f, q))
                    store(m.a, base + i, x)
                    store(m.a, base + j, y)
                    w, ww, w_, ww_ = add(w, x), fma(x, x, ww), add(w_, y), fma(y, y, ww_)
                w, ww = add(w, w_), add(ww, ww_)
            else:
                v, wv, vv = load(sums, to + 2 * kinds), load(sums, to + 3 * kinds), load(sums, to + 4 * kinds)
                for n in range(begin, end):
                    i = count_of(order[n])
                    p = (count_of(now[i]) ^ differs) >> shift
                    x, y = mul(load(m.a, base + i), load(f, p)), mul(load(b, base + i), load(f, flip ^ p))
                    store(m.a, base + i, x)
                    store(b, base + i, y)
                    x, y = sub(x, y), add(x, y)
                    w, ww = add(w, x), fma(x, x, ww)
                    v, wv, vv = add(v, y), fma(x, y, wv), fma(y, y, vv)
                store(sums, to + 2 * kinds, v)
                store(sums, to + 3 * kinds, wv)
                store(sums, to + 4 * kinds, vv)
            store(sums, to, w)
            store(sums, to + kinds, ww)


@part
def combine(f: Any, ups: Any, downs: Any, count: int) -> None:
    """The factors of the patterns of `count` examples, the last of which is their lowest bit."""
    store(f, 0, full(f.dtype.type(1)))
    for k in range(count):
        j, size = count - 1 - k, 1 << k
        up, down = load(ups, j), load(downs, j)
        for p in range(size):
            factor = load(f, p)
            store(f, p + size, mul(factor, down))
            store(f, p, mul(factor, up))


@part
def product(sums: Any, first: int, half: int, ahead: Any) -> None:
    """Products with the example whose sign is the highest bit of the patterns."""
    total = full(sums.dtype.type(0))
    for p in range(first, first + half):
        total = add(total, sub(load(sums, p), load(sums, p + half)))
    store(ahead, 0, total)


@part
def fold(m: Any, b: Any, first: int, kinds: int, half: int, j: int, s: Any) -> None:
    """The sums after example j, whose sign was the highest bit of the patterns; and that of all w².

    With c and s half the sum and half the difference of the factors, w and v become c w ± s v and c v ± s w.
    Where the factors hardly differ nothing cancels, as it would in sums of a², ab and b².
    """
    sums, one_half = m.sums, full(m.a.dtype.type(0.5))
    total, up, down = full(m.a.dtype.type(0)), load(s.ups, j), load(s.downs, j)
    c, d = mul(one_half, add(up, down)), mul(one_half, sub(up, down))
    cc, cd, dd, upup, downdown = mul(c, c), mul(c, d), mul(d, d), mul(up, up), mul(down, down)
    for p in range(first, first + half):
        w0, w1, ww0, ww1 = (
            load(sums, p),
            load(sums, p + half),
            load(sums, p + kinds),
            load(sums, p + kinds + half),
        )
        if b is not None:
            at_v, at_wv, at_vv = p + 2 * kinds, p + 3 * kinds, p + 4 * kinds
            v0, v1, wv0, wv1 = (
                load(sums, at_v),
                load(sums, at_v + half),
                load(sums, at_wv),
                load(sums, at_wv + half),
            )
            vv0, vv1 = load(sums, at_vv), load(sums, at_vv + half)
            ww, vv, crossed = add(ww0, ww1), add(vv0, vv1), mul(add(cd, cd), sub(wv0, wv1))
            between = mul(cd, add(sub(ww0, ww1), sub(vv0, vv1)))
            square = positive(fma(cc, ww, fma(dd, vv, crossed)))  # below 0 by rounding; NaN stays
            store(sums, p, fma(c, add(w0, w1), mul(d, sub(v0, v1))))
            store(sums, at_v, fma(c, add(v0, v1), mul(d, sub(w0, w1))))
            store(sums, at_wv, fma(add(cc, dd), add(wv0, wv1), between))
            store(sums, at_vv, fma(cc, vv, fma(dd, ww, crossed)))
        else:
            store(sums, p, fma(up, w0, mul(down, w1)))
            square = fma(upup, ww0, mul(downdown, ww1))
        store(sums, p + kinds, square)
        total = add(total, square)
    store(s.squares, 0, total)


@part
def begin_block(m: Any, examples: Any, g: int, r: int, block: int, s: Any) -> None:
    """The signs of the examples of a block in every lane, and where the weights kept apart belong."""
    bits, of_segment, of_part = examples.bits, examples.segments[r, block], examples.parts[r, block]
    for lane in range(LANES):
        s.patterns[lane] = of_segment[lane // m.per_tile]
    for j in range(bits):
        for lane in range(LANES):
            s.signs[j, lane] = 1 - 2 * (s.patterns[lane] >> (bits - 1 - j) & 1)
    for n in range(m.sizes.shape[1]):
        for lane in range(LANES):
            i = count_of(m.places[g, n, lane])
            within = of_part[i // count_of(PLACES)] ^ examples.patterns[r, block, i % count_of(PLACES)]
            s.patterns[lane] = of_segment[count_of(m.segments[g, n, lane])] ^ within
        for j in range(bits):
            for lane in range(LANES):
                s.apart[j, n, lane] = 1 - 2 * (s.patterns[lane] >> (bits - 1 - j) & 1)


@part
def over_segments(values: Any, other: Any, per_tile: int) -> None:
    """Sum values [LANES] over the segments of a member, in the lane of each."""
    apart = per_tile
    while apart < LANES:
        for lane in range(LANES):
            other[lane] = values[lane] + values[lane ^ apart]
        store(values, 0, load(other, 0))
        apart *= 2


@part
def learn(m: Any, b: Any, g: int, j: int, s: Any) -> None:
    """The factors of all members of a tile for an example, and the step of the weights kept apart.

    Every segment has those of its member. The losses are those of the weights kept apart alone.
    """
    store(s.products, 0, mul(load(s.signs, j), load(s.products, 0)))
    over_segments(s.products, s.squares, m.per_tile)
    count, residual = m.sizes.shape[1], double(load(s.products, 0))
    for n in range(count):
        row = g * count + n
        error = sub(load(m.a_apart, row), load(m.sizes, row))
        if b is not None:
            error = sub(error, load(m.b_apart, row))
        residual = fma(double(load(s.apart, j * count + n)), double(error), residual)
    one, pull = full(1.0), mul(residual, load(m.rates, g))
    up, down = sub(one, pull), add(one, pull)
    if m.exponential:
        down = exp(pull)
        up = div(one, down)
    if m.squared:
        up, down = mul(up, up), mul(down, down)
    signs, losses = load(s.signs, j), full(0.0)
    ups, downs = rounded(up, signs), rounded(down, signs)
    store(s.ups, j, where(signs, ups, downs))
    store(s.downs, j, where(signs, downs, ups))
    for n in range(count):
        row, signs = g * count + n, load(s.apart, j * count + n)
        weight = mul(load(m.a_apart, row), where(signs, ups, downs))
        store(m.a_apart, row, weight)
        if b is not None:
            less = mul(load(m.b_apart, row), where(signs, downs, ups))
            store(m.b_apart, row, less)
            weight = sub(weight, less)
        error = double(sub(weight, load(m.sizes, row)))
        losses = fma(error, error, losses)
    store(s.losses, 0, losses)


@part
def kept_apart(m: Any, b: Any, g: int, n: int, at: int) -> Any:
    """Weight number n of those kept apart of member number `at` of a tile."""
    return m.a_apart[g, n, at] - m.b_apart[g, n, at] if b is not None else m.a_apart[g, n, at]


@part
def assemble(m: Any, b: Any, g: int, at: int, examples: Any, block: int, count: int, f: Any, w: Any) -> None:
    """The weights of member number `at` of a tile of the first replica after `count` examples of a block."""
    shift, flip, rows = examples.bits - count, (1 << count) - 1, m.a.shape[1]
    places = examples.patterns.shape[2]
    for segment in range(LANES // m.per_tile):
        lane = count_of(at + segment * m.per_tile)
        for part in range(rows // places):
            differs, base = examples.parts[0, block, part], count_of(part * places)
            for i in range(count_of(0), count_of(places)):
                p = count_of((examples.patterns[0, block, i] ^ differs) >> shift)
                weight = m.a[g, base + i, lane] * f[p, lane]
                if b is not None:
                    weight -= b[g, base + i, lane] * f[count_of(flip) ^ p, lane]
                w[count_of(segment * rows) + base + i] = weight
    for n in range(m.sizes.shape[1]):
        w[m.segments[g, n, at] * rows + m.places[g, n, at]] = kept_apart(m, b, g, n, at)


@part
def cross(x: Any, y: Any) -> None:
    """Sums and differences."""
    for i in range(len(x)):
        x[i], y[i] = x[i] + y[i], x[i] - y[i]


@part
def cross_thrice(x: Any, i: int, stride: int) -> None:
    """Three stages for rows i, i + stride … i + 7 · stride."""
    x0, x1, x2, x3 = load(x, i), load(x, i + stride), load(x, i + 2 * stride), load(x, i + 3 * stride)
    p, q, u, v = add(x0, x1), sub(x0, x1), add(x2, x3), sub(x2, x3)
    x0, x1, x2, x3 = add(p, u), add(q, v), sub(p, u), sub(q, v)
    j = i + 4 * stride
    y0, y1, y2, y3 = load(x, j), load(x, j + stride), load(x, j + 2 * stride), load(x, j + 3 * stride)
    p, q, u, v = add(y0, y1), sub(y0, y1), add(y2, y3), sub(y2, y3)
    y0, y1, y2, y3 = add(p, u), add(q, v), sub(p, u), sub(q, v)
    store(x, i, add(x0, y0))
    store(x, i + stride, add(x1, y1))
    store(x, i + 2 * stride, add(x2, y2))
    store(x, i + 3 * stride, add(x3, y3))
    store(x, j, sub(x0, y0))
    store(x, j + stride, sub(x1, y1))
    store(x, j + 2 * stride, sub(x2, y2))
    store(x, j + 3 * stride, sub(x3, y3))


@part
def transform(x: Any, per_tile: int) -> None:
    """The products of Sylvester's rows with the weight vectors of a tile [m, LANES], in their place.

    All but the last stage, which adds and subtracts the halves of the rows.
    """
    for i in range(len(x)):
        apart = per_tile
        while apart < LANES:
            for lane in range(0, LANES, 2 * apart):
                cross(x[i, lane : lane + apart], x[i, lane + apart : lane + 2 * apart])
            apart *= 2
    end, stride = len(x) // 2, number(1)
    while 4 * stride < end:
        for base in range(0, len(x), 8 * stride):
            for i in range(base, base + stride):
                cross_thrice(x, i, stride)
        stride *= 8
    while stride < end:
        for base in range(0, len(x), 2 * stride):
            for i in range(base, base + stride):
                p, q = load(x, i), load(x, i + stride)
                store(x, i, add(p, q))
                store(x, i + stride, sub(p, q))
        stride *= 2


@part
def compared(predicted: Any, sides: Any, row: int, most: Any, least: Any) -> Any:
    """1 for a prediction on the side of its label, −1 on the other, and 0 for a tie."""
    margin = mul(predicted, load_as(sides, row, predicted))
    return sub(above(margin, most), above(least, margin))


@part
def weigh(m: Any, b: Any, g: int, examples: Any, r: int, block: int, count: int, f: Any, x: Any) -> None:
    """The weights of a tile after the first `count` examples of a block, but for those kept apart."""
    shift, flip, places = examples.bits - count, count_of((1 << count) - 1), examples.patterns.shape[2]
    for part in range(examples.parts.shape[2]):
        differs, base = examples.parts[r, block, part], part * places
        for i in range(count_of(0), count_of(places)):
            p, row = count_of((examples.patterns[r, block, i] ^ differs) >> shift), count_of(base) + i
            at = count_of(g * len(x)) + row
            weights = mul(load(m.a, at), load(f, p))
            store(x, row, sub(weights, mul(load(b, at), load(f, flip ^ p))) if b is not None else weights)


@part
def count_right(
    m: Any, b: Any, g: int, first: int, last: int, records: Any, x: Any, s: Any, right: Any
) -> None:
    """Count for the members of a tile how many rows are right, less those that are wrong.

    By their weights x but for those kept apart.
    """
    for member in range(first, last):
        at = member - first
        for n in range(m.sizes.shape[1]):
            lane = at + m.segments[g, n, at] * m.per_tile
            x[m.places[g, n, at], lane] = kept_apart(m, b, g, n, at)
    transform(x, m.per_tile)
    counts = full(x.dtype.type(0))
    most, least = full(x.dtype.type(records.tie)), full(x.dtype.type(-records.tie))
    half, row = len(x) // 2, g * len(x)
    for i in range(half):
        p, q = load(x, i), load(x, i + half)
        counts = add(counts, compared(add(p, q), records.sides, row + i, most, least))
        counts = add(counts, compared(sub(p, q), records.sides, row + i + half, most, least))
    store(s.products, 0, counts)
    over_segments(s.products, s.squares, m.per_tile)
    for member in range(first, last):
        right[member] = s.products[member - first]


@part
def gather(m: Any, b: Any, g: int, bits: int) -> None:
    """Add the sums of all chunks of a tile to those of the first."""
    size, chunks = number(KINDS << bits), m.sums.shape[1]
    of_first = g * chunks * size
    for row in range(of_first, of_first + ((2 if b is None else KINDS) << bits)):
        total = load(m.sums, row)
        for chunk in range(1, chunks):
            total = add(total, load(m.sums, row + chunk * size))
        store(m.sums, row, total)


@part
def advance(m: Any, b: Any, examples: Any, records: Any, g: int, block: int, s: Any) -> int:
    """Have the members of a tile learn the examples of a block, and say how many; block −1 has none."""
    bits, (steps, replicas, members) = examples.bits, records.losses.shape
    tiles, before = len(m.a) // replicas, max(0, block * bits)
    r, first = g // tiles, g % tiles * m.per_tile
    last, count = min(members, first + m.per_tile), min(bits, steps - before) if block >= 0 else 0
    if block >= 0:
        gather(m, b, g, bits)
        begin_block(m, examples, g, r, block, s)
    of_tile = g * m.sums.shape[1] * KINDS << bits
    for j in range(count + 1):
        if j > 0:
            half = 1 << (bits - j)
            product(m.sums, of_tile, half, s.products)
            learn(m, b, g, j - 1, s)
            fold(m, b, of_tile, 1 << bits, half, j - 1, s)
            over_segments(s.squares, s.products, m.per_tile)
            losses = records.losses[before + j - 1, r]
            for member in range(first, last):
                losses[member] = s.losses[member - first] + s.squares[member - first]
        elif block >= 0:
            continue
        counted, kept = records.counted[before + j], records.slots[before + j] if r == 0 else -1
        if counted >= 0 or kept >= 0 or j == count:
            combine(s.factors, s.ups, s.downs, j)
        if counted >= 0:
            weigh(m, b, g, examples, r, block, j, s.factors, s.weights)
            count_right(m, b, g, first, last, records, s.weights, s, records.right[counted, r])
        if kept >= 0:
            for member in range(first, last):
                if member % records.stride == 0:
                    of_member = records.kept[kept, member // records.stride]
                    assemble(m, b, g, member - first, examples, block, j, s.factors, of_member)
    return count


@loop
def blocked_pass(
    m: Any, examples: Any, records: Any, s: Any, tiles: Any, blocks: Any, chunks: Any, learns: bool
) -> None:
    """Have the members of some tiles learn the examples of some blocks, if it `learns` them.

    Then multiply their weights in some chunks, and sum them for the next block: for block −1 that is all.
    """
    replicas, parts = records.losses.shape[1], examples.parts.shape[2] // m.sums.shape[1]
    for g in range(tiles[0], tiles[1]):
        r = g // (len(m.a) // replicas)
        for block in range(blocks[0], blocks[1]):
            if learns:
                count = advance(m, m.b, examples, records, g, block, s)
            else:
                count = min(examples.bits, len(records.losses) - block * examples.bits) if block >= 0 else 0
            for chunk in range(chunks[0], chunks[1]):
                carry(m, m.b, g, examples, r, block, count, s.factors, chunk, parts)
