"""J2 as an expert writes it for that job alone: fused passes in SIMD registers, and closed forms.

What it uses: rows are ±1, so that a factor of a weight is one of two numbers, c + x s; the weights of 32
targets lie side by side in two AVX-512 registers, so that an example's sign is the same for all of them and
nothing is summed across lanes; one pass over the weights makes the step along x_k, the products with
x_{k+1} and ‖w‖² at once, in registers (`vectors.py`: numba's own vectorising writes
the sums to memory at every row); the loss over all rows is ‖w‖² − 2 w_t + 1 by Parseval, which in float32
leaves an error of 3e-6; a spindly net is trained in w = u², whose factors are squares; AdaGrad's sum of
squares on ±1 is one number for each target. 32 targets at a time are 128 KiB, which stay in the
second-level cache.

What was tried, within an hour: 16, 32 and 64 targets at once (0.074, 0.044, 0.045 s for EGU), factors from
a table of two rows in place of c + x s (0.060), loops unrolled four times (0.044), one weight vector at a
time as numba vectorises it (`numba_rules.py`, 0.12). At 32 targets EGU takes 0.041 ns for an element and a
step: for 16 of them a load, a store, a product and three FMAs in 0.66 ns, where four instructions at two a
cycle and 3 GHz or so would take 0.67.

Mistakes are counted by a fast transform of the same vectors, at the records where the engine counts them,
since they are part of the job; closed forms leave them out.

For GD and momentum, which are linear, rows that are orthogonal leave recursions in each row's own
prediction: `closed_gd` is one sum over the labels, `closed_momentum` has three sums for each target.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from vectors import LANES, above, add, fma, full, load, mul, store, sub

from engine.problems.hadamard_matrices import sylvester

OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}, "nogil": True}
EPS, MU = 1e-8, 0.9
ONE, TIE = np.float32(1), np.float32(2.0**-11.5)
"""A prediction nearer to 0 is neither right nor wrong."""


@njit(**OPTIONS)
def _transform(x: Any, d: int) -> None:
    """The products of Sylvester's rows with weights [d, LANES], three stages at a time."""
    stride = 1
    while 8 * stride <= d:
        for base in range(0, d, 8 * stride):
            for i in range(base, base + stride):
                j = i + 4 * stride
                a, b, c, e = load(x, i), load(x, i + stride), load(x, i + 2 * stride), load(x, i + 3 * stride)
                f, g, h, k = load(x, j), load(x, j + stride), load(x, j + 2 * stride), load(x, j + 3 * stride)
                a, b, c, e = add(a, b), sub(a, b), add(c, e), sub(c, e)
                f, g, h, k = add(f, g), sub(f, g), add(h, k), sub(h, k)
                a, b, c, e = add(a, c), add(b, e), sub(a, c), sub(b, e)
                f, g, h, k = add(f, h), add(g, k), sub(f, h), sub(g, k)
                store(x, i, add(a, f))
                store(x, i + stride, add(b, g))
                store(x, i + 2 * stride, add(c, h))
                store(x, i + 3 * stride, add(e, k))
                store(x, j, sub(a, f))
                store(x, j + stride, sub(b, g))
                store(x, j + 2 * stride, sub(c, h))
                store(x, j + 3 * stride, sub(e, k))
        stride *= 8
    while stride < d:
        for base in range(0, d, 2 * stride):
            for i in range(base, base + stride):
                a, b = load(x, i), load(x, i + stride)
                store(x, i, add(a, b))
                store(x, i + stride, sub(a, b))
        stride *= 2


@njit(**OPTIONS)
def _measure(
    x: Any, sums: Any, w_t: Any, X: Any, H: Any, k: int, after: int, first: int, totals: Any, slopes: Any
) -> None:
    """Add the losses of a group of targets, and make the slopes 2 (ŷ − y) for the next row.

    Where totals[1, k] is not NaN, the errors too, by weights x that are used up.
    """
    total = 0.0
    for lane in range(LANES):
        total += sums[1, lane] - 2 * w_t[lane] + 1
        slopes[lane] = 2 * (sums[0, lane] - X[after, first + lane])
    totals[0, k] += total
    if not np.isnan(totals[1, k]):
        d = X.shape[1]
        _transform(x, d)
        counts, group, tie_above, least = full(np.float32(0)), first // LANES, full(TIE), full(-TIE)
        for row in range(d):
            margin = mul(load(x, row), load(H, row * (d // LANES) + group))
            counts = add(counts, sub(above(margin, tie_above), above(least, margin)))
        store(sums, 0, counts)
        right = 0.0
        for lane in range(LANES):
            right += sums[0, lane]
        totals[1, k] += (1 - right / d / LANES) / 2 * LANES


@njit(**OPTIONS)
def _measure_weights(
    w: Any,
    copy: Any,
    sums: Any,
    w_t: Any,
    X: Any,
    H: Any,
    k: int,
    after: int,
    first: int,
    totals: Any,
    slopes: Any,
) -> None:
    """The same for weights w that stay as they are; `copy` has room for those that are used up."""
    if not np.isnan(totals[1, k]):
        for i in range(len(w)):
            store(copy, i, load(w, i))
    for lane in range(LANES):
        w_t[lane] = w[first + lane, lane]
    _measure(copy, sums, w_t, X, H, k, after, first, totals, slopes)


@njit(**OPTIONS)
def multiplied(X: Any, H: Any, lr: Any, start: Any, rule: int, totals: Any, begin: int, end: int) -> None:
    """w ← w ⊙ (c + x s): EGU (0), private rates (1) and spindly nets as w = u² (2), for some targets."""
    n, d = X.shape
    copy = np.empty((d, LANES), np.float32)
    w, s, sums = (
        np.empty((d, LANES), np.float32),
        np.empty((2, LANES), np.float32),
        np.empty((2, LANES), np.float32),
    )
    slopes, w_t = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for first in range(begin, end, LANES):
        w[:], s[0], s[1] = start, 1, 0
        for k in range(n + 1):
            c, h, dots, squares = load(s, 0), load(s, 1), full(np.float32(0)), full(np.float32(0))
            before, after = max(k - 1, 0), min(k, n - 1)
            for i in range(d):
                x = mul(load(w, i), fma(h, full(X[before, i]), c))
                store(w, i, x)
                dots, squares = fma(x, full(X[after, i]), dots), fma(x, x, squares)
            store(sums, 0, dots)
            store(sums, 1, squares)
            _measure_weights(w, copy, sums, w_t, X, H, k, after, first, totals, slopes)
            for lane in range(LANES):
                pull = lr * slopes[lane]
                up, down = ONE - pull, ONE + pull
                if rule == 0:
                    up = np.exp(-pull)
                    down = ONE / up
                elif rule == 2:
                    up, down = (ONE - 2 * pull) ** 2, (ONE + 2 * pull) ** 2
                s[0, lane], s[1, lane] = (up + down) / 2, (up - down) / 2


@njit(**OPTIONS)
def signed(X: Any, H: Any, lr: Any, start: Any, totals: Any, begin: int, end: int) -> None:
    """w = a − b with a ← a ⊙ (c + x s), b ← b ⊙ (c − x s): EGU±, and hypentropy."""
    n, d = X.shape
    copy = np.empty((d, LANES), np.float32)
    a, b = np.empty((d, LANES), np.float32), np.empty((d, LANES), np.float32)
    s, sums = np.empty((2, LANES), np.float32), np.empty((2, LANES), np.float32)
    slopes, w_t = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for first in range(begin, end, LANES):
        a[:], b[:], s[0], s[1] = start, start, 1, 0
        for k in range(n + 1):
            c, h, dots, squares = load(s, 0), load(s, 1), full(np.float32(0)), full(np.float32(0))
            before, after = max(k - 1, 0), min(k, n - 1)
            for i in range(d):
                change = mul(h, full(X[before, i]))
                x, y = load(a, i), load(b, i)
                x, y = fma(x, change, mul(x, c)), sub(mul(y, c), mul(y, change))
                store(a, i, x)
                store(b, i, y)
                x = sub(x, y)
                dots, squares = fma(x, full(X[after, i]), dots), fma(x, x, squares)
            store(sums, 0, dots)
            store(sums, 1, squares)
            if not np.isnan(totals[1, k]):
                for i in range(d):
                    store(copy, i, sub(load(a, i), load(b, i)))
            for lane in range(LANES):
                w_t[lane] = a[first + lane, lane] - b[first + lane, lane]
            _measure(copy, sums, w_t, X, H, k, after, first, totals, slopes)
            for lane in range(LANES):
                up = np.exp(-lr * slopes[lane])
                down = ONE / up
                s[0, lane], s[1, lane] = (up + down) / 2, (up - down) / 2


@njit(**OPTIONS)
def added(X: Any, H: Any, lr: Any, rule: int, totals: Any, begin: int, end: int) -> None:
    """w ← w − s x: GD (0) and AdaGrad (1), whose rates are the same for all features on ±1."""
    n, d = X.shape
    copy = np.empty((d, LANES), np.float32)
    w, s, sums = (
        np.empty((d, LANES), np.float32),
        np.empty((1, LANES), np.float32),
        np.empty((2, LANES), np.float32),
    )
    slopes, w_t, memory = (
        np.empty(LANES, np.float32),
        np.empty(LANES, np.float32),
        np.empty(LANES, np.float32),
    )
    for first in range(begin, end, LANES):
        w[:], s[:], memory[:] = 0, 0, 0
        for k in range(n + 1):
            h, dots, squares = load(s, 0), full(np.float32(0)), full(np.float32(0))
            before, after = max(k - 1, 0), min(k, n - 1)
            for i in range(d):
                x = fma(h, full(X[before, i]), load(w, i))
                store(w, i, x)
                dots, squares = fma(x, full(X[after, i]), dots), fma(x, x, squares)
            store(sums, 0, dots)
            store(sums, 1, squares)
            _measure_weights(w, copy, sums, w_t, X, H, k, after, first, totals, slopes)
            for lane in range(LANES):
                c = slopes[lane]
                memory[lane] += c * c
                s[0, lane] = -lr * c / (np.sqrt(np.float32(EPS) + memory[lane]) if rule else ONE)


@njit(**OPTIONS)
def with_momentum(X: Any, H: Any, lr: Any, totals: Any, begin: int, end: int) -> None:
    """v ← μ v + c x, w ← w − η v."""
    n, d = X.shape
    copy = np.empty((d, LANES), np.float32)
    w, v = np.empty((d, LANES), np.float32), np.empty((d, LANES), np.float32)
    s, sums = np.empty((1, LANES), np.float32), np.empty((2, LANES), np.float32)
    slopes, w_t = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for first in range(begin, end, LANES):
        w[:], v[:], s[:] = 0, 0, 0
        for k in range(n + 1):
            h, dots, squares = load(s, 0), full(np.float32(0)), full(np.float32(0))
            mu, rate = full(np.float32(MU)), full(-lr)
            before, after = max(k - 1, 0), min(k, n - 1)
            for i in range(d):
                y = fma(h, full(X[before, i]), mul(mu, load(v, i)))
                x = fma(rate, y, load(w, i))
                store(v, i, y)
                store(w, i, x)
                dots, squares = fma(x, full(X[after, i]), dots), fma(x, x, squares)
            store(sums, 0, dots)
            store(sums, 1, squares)
            _measure_weights(w, copy, sums, w_t, X, H, k, after, first, totals, slopes)
            for lane in range(LANES):
                s[0, lane] = slopes[lane]


def closed_gd(Y: NDArray[np.float32], lr: float) -> NDArray[np.float64]:
    """From w = 0 the error on a row is −y until it is learnt, and −(1 − 2 η d) y from then on."""
    n, d = len(Y), Y.shape[1]
    squares = np.einsum("ij,ij->i", Y, Y, dtype=np.float64) / (n * d)
    learnt = np.append(0.0, squares.cumsum())
    losses: NDArray[np.float64] = squares.sum() + learnt * ((1 - 2 * lr * n) ** 2 - 1)
    return losses


@njit(**OPTIONS)
def closed_momentum(Y: Any, lr: float, mu: float) -> Any:
    """By e and v, the error on a row and what the memory predicts of it: sums of e², e v and v² over rows.

    Every step is v ← μ v, e ← e − η v, and for the row that is learnt v ← v + 2 d e before.
    """
    n, targets = Y.shape
    losses, ee = np.zeros(n + 1), np.empty(targets)
    ev, vv = np.zeros(targets), np.zeros(targets)
    for t in range(targets):
        total = 0.0
        for k in range(n):
            total += Y[k, t] * Y[k, t]
        ee[t] = total
    losses[0] = ee.sum()
    for k in range(n):
        total = 0.0
        for t in range(targets):
            e = -Y[k, t]
            v = 2 * n * e
            squares, between = mu * mu * vv[t] + v * v, mu * ev[t] + e * v
            ee[t] += lr * (lr * squares - 2 * between)
            ev[t], vv[t] = between - lr * squares, squares
            total += ee[t]
        losses[k + 1] = total
    return losses / (n * targets)


def curve(
    learner: str, X: NDArray[np.float32], lr: float, counted: NDArray[np.bool_], threads: int | None = None
) -> NDArray[np.float64]:
    """Losses after 0 … n rows, and the errors where they are counted and else NaN, [2, n + 1].

    By fused passes, with as many threads as this process has cores.
    """
    d, rate = X.shape[1], np.float32(lr)
    go, arguments = {
        "EGU": (multiplied, (rate, np.float32(1 / d), 0)),
        "private rates": (multiplied, (rate, np.float32(1 / d), 1)),
        "spindly": (multiplied, (rate, np.float32(1 / d), 2)),
        "EGU±": (signed, (rate, np.float32(0.5 / d))),
        "hypentropy": (signed, (rate, np.float32(0.5 / d))),
        "GD": (added, (rate, 0)),
        "AdaGrad": (added, (rate, 1)),
        "momentum": (with_momentum, (rate,)),
    }[learner]
    threads = threads or len(os.sched_getaffinity(0))
    groups, H = d // LANES, sylvester(d).astype(np.float32)
    ends = [groups * part // threads * LANES for part in range(threads + 1)]
    sums = np.zeros((threads, 2, len(X) + 1))
    sums[:, 1, ~counted] = np.nan
    with ThreadPoolExecutor(threads) as pool:
        parts = [
            pool.submit(go, X, H, *arguments, part_sums, *bounds)
            for part_sums, bounds in zip(sums, pairwise(ends), strict=True)
        ]
        for part in parts:
            part.result()
    means: NDArray[np.float64] = sums.sum(0) / d
    return means


def closed_curve(
    learner: str, X: NDArray[np.float32], lr: float, counted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The losses from labels alone, which are the columns of X."""
    losses = closed_gd(X, lr) if learner == "GD" else closed_momentum(X, lr, MU)
    return losses[None]
