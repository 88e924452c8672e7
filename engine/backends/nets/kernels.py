"""What is compiled: full-batch descent of nets with one hidden layer, on instances along the axes."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from engine.backends.loops import keep

Array = Any
"""An array of numpy; the compiler finds out its dtype and dimensions by itself."""


class Nets(NamedTuple):
    """B nets Σ_i a_i σ(w_iᵀx) of h units, each with the first k of the instances c·e_1, c·e_2, …"""

    first: Array
    """[B, K, h], w_ij for every instance j: its pre-activations over c. Of each net the first k move."""
    last: Array
    """[B, h], a."""
    labels: Array
    """[B, K]."""
    seen: Array
    """[B], k of every net."""
    steps: Array
    """[B, 3], what makes ∂L/∂ŷ · c of an error, 2c/k, and the rates of w and of a."""
    active: Array
    """[B], whether a net goes on."""
    numbers: Array
    """Of their dtype: c, σ(1), −σ(−1) for a σ that is straight on both sides of 0, and the tolerance."""


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "arcp", "contract"})  # type: ignore[untyped-decorator]
def train(nets: Nets, most: int, slopes: Array, made: Array, begin: int, end: int) -> None:
    """Up to `most` steps of the active nets from number `begin` to `end`, along the mean square loss.

    A net rests after the step before which its loss was at most the tolerance. One pass over its
    pre-activations does for a step: those of an instance make its prediction, and move along it, in the
    cache. `slopes` is [h] to work in, `made` [B] where steps are counted. Whole numbers would make the
    compiler take everything to float64.
    """
    units = nets.last.shape[1]
    length, above, below, tolerance = nets.numbers
    zero = length - length
    for b in range(begin, end):
        made[b] = 0
        if not nets.active[b]:
            continue
        a, labels = nets.last[b], nets.labels[b]
        share, w_rate, a_rate = nets.steps[b]
        k = nets.seen[b]
        for _ in range(most):
            total = zero
            for i in range(units):
                slopes[i] = zero
            for j in range(k):
                w = nets.first[b, j]
                prediction = zero
                for i in range(units):
                    prediction += a[i] * (w[i] * (above if w[i] > zero else below))
                error = prediction * length - labels[j]
                total += error * error
                back = share * error
                step = w_rate * back
                for i in range(units):
                    slope = above if w[i] > zero else below
                    slopes[i] += back * (slope * w[i])
                    w[i] -= step * (slope * a[i])
            for i in range(units):
                a[i] -= a_rate * slopes[i]
            made[b] += 1
            if total / k <= tolerance:
                nets.active[b] = False
                break


keep(train)
