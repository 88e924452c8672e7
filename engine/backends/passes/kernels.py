"""Loops that train weight vectors on ±1 examples, and count right predictions. Numba compiles them.

A step on an example x multiplies every weight a_i by one of two factors, selected by the sign of x_i. It
multiplies b_i by the other factor. The loop that makes the step for a weight vector also computes ‖w‖² and
the product of w with the next example.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numba.core.compiler import Compiler

from engine.backends.loops import keep

Function = TypeVar("Function", bound=Callable[..., Any])

Array = Any
"""A numpy array, whose dtype and dimensions the compiler infers."""


class Members(NamedTuple):
    """Weight vectors w in training, B vectors for each of R replicas, with w = a − b, or w = a.

    A step multiplies each a_i and b_i by a factor. If w = u² − v² (a `MultiplicativeStep` of power 2), then a
    = u² and b = v², and factors are squared, too. The targets w* have few entries that are not 0. At these
    entries, a and b are stored in `apart`, and `halves` has 0. At all other entries, w* is 0, so w equals the
    error w − w*, and no rounding error arises from the subtraction.
    """

    halves: Array
    """[R·B, 2 or 1, d], a and b, with 0 where w* ≠ 0."""
    apart: Array
    """[R·B, 2 or 1, r], a and b where w* ≠ 0."""
    places: Array
    """[R·B, r], indices of the features with w* ≠ 0."""
    sizes: Array
    """[R·B, r], the entries of w* at the indices in `places`."""
    rates: Array
    """[R·B], 2 s η. The product with a residual ŷ − y = c/2 is s η c; float64."""
    exponential: bool
    """Whether factors are e^(∓s η c). Otherwise, they are 1 ∓ s η c."""
    squared: bool
    """Whether factors are squared."""


class Records(NamedTuple):
    """Output arrays for losses, weights and counts of right predictions after each of K examples."""

    losses: Array
    """[K, R·B], ‖w − w*‖²; float64."""
    slots: Array
    """[K + 1], the index in `weights` for the weights after 0, 1, … K examples; −1 if not stored."""
    weights: Array
    """[slots, V, d], weights of the first replica's members 0, `stride`, 2 · `stride` …"""
    stride: int
    """Number of targets. Of `stride` successive members, only the weights of the first one are stored."""
    counted: Array
    """[K + 1], the index in `right` for the count after 0, 1, … K examples; −1 if not counted."""
    right: Array
    """[counts, R·B], the number of right minus the number of wrong predictions; float64.

    The predictions are those of all rows of the Sylvester matrix.
    """
    labels: Array
    """[R, targets, d], ±1 labels of the rows of the Sylvester matrix, in the order of `transform`; int8."""
    tie: float
    """Largest absolute value of a prediction that counts as neither right nor wrong."""


class Bare(Compiler):  # type: ignore[misc]
    """Compiler for functions whose arrays do not overlap and have no reference counts.

    Counting references takes 0.35 µs per example and weight vector, twice as long as multiplying 1024
    weights.
    """

    def __init__(self, *context: Any) -> None:
        flags = context[-2]
        flags.noalias, flags.nrt = True, False
        super().__init__(*context)


OPTIONS: dict[str, Any] = {
    "fastmath": {"reassoc", "nsz", "arcp", "contract"},
    "error_model": "numpy",
    "nogil": True,
    "pipeline_class": Bare,
    "no_cfunc_wrapper": True,
}
"""Options of numba. Sums may be computed in any order. Infinities and NaN keep their meaning, and 1/0 is
infinite.
"""

SLICE = 4096
"""Number of terms that are summed in the dtype of the weights. Sums of such slices are added in float64."""

BLOCK = 16
"""Number of examples that one weight vector learns before the next vector learns the same examples.

The examples and the vector stay in the processor's cache.
"""

LOW = 16
"""Number of adjacent entries that `transform` combines last, after it has moved them apart.

So all inner loops of `transform` run over many entries.
"""


def part(function: Function) -> Function:
    """Compile a function with numba, for calls by other compiled functions."""
    compiled: Function = njit(**OPTIONS, forceinline=True)(function)
    return compiled


def loop(function: Function) -> Function:
    """Compile a function with numba. It runs without Python's global lock, and is stored on disk."""
    compiled: Any = njit(**OPTIONS)(function)
    keep(compiled)
    result: Function = compiled
    return result


@loop
def sylvester_rows(numbers: Array, row_signs: Array, signs: Array) -> None:
    """Compute rows of a Sylvester matrix, each times a sign ±1. Write them to `signs`, int8 [R, K, d].

    `numbers` [R, K] are the indices of the rows, and `row_signs` [R, K] their signs. Entry i of row h is
    (−1)^popcount(h & i). If bit j of h is 0, the entries 2^j to 2^(j+1) − 1 repeat all entries before them.
    If bit j is 1, they repeat these entries with the opposite sign.
    """
    for r in range(signs.shape[0]):
        for k in range(signs.shape[1]):
            row = signs[r, k]
            row[0] = 1 if row_signs[r, k] > 0 else -1
            size = 1
            while size < len(row):
                sign = np.int8(-1 if numbers[r, k] & size else 1)
                for i in range(size):
                    row[size + i] = sign * row[i]
                size *= 2


@part
def multiply(a: Array, signs: Array, after: Array, up: float, down: float) -> tuple[float, float]:
    """Multiply the weights a_i by `up` where the example x has x_i = +1, and by `down` where x_i = −1.

    The example x is `signs` [d], and the next example y is `after` [d]. Return Σ a_i y_i and Σ a_i² for the
    new a_i.
    """
    product, square, zero = np.float64(0), np.float64(0), up - up
    for first in range(0, len(a), SLICE):
        products, squares = zero, zero
        a_, x_, y_ = a[first : first + SLICE], signs[first : first + SLICE], after[first : first + SLICE]
        for i in range(len(a_)):
            # Chosen from two factors, because computing c + s x rounds differently and is three times slower.
            w = a_[i] * (up if x_[i] > 0 else down)
            a_[i] = w
            squares += w * w
            products += w * y_[i]
        product += products
        square += squares
    return product, square


@part
def multiply_both(
    a: Array, b: Array, signs: Array, after: Array, up: float, down: float
) -> tuple[float, float]:
    """Make the step of `multiply` on the example x for weights w = a − b.

    Each a_i is multiplied by `up` where x_i = +1, and by `down` where x_i = −1. For b_i, the two factors are
    exchanged. Return Σ w_i y_i and Σ w_i² for the new w, where y = `after` is the next example.
    """
    product, square, zero = np.float64(0), np.float64(0), up - up
    for first in range(0, len(a), SLICE):
        products, squares = zero, zero
        a_, b_ = a[first : first + SLICE], b[first : first + SLICE]
        x_, y_ = signs[first : first + SLICE], after[first : first + SLICE]
        for i in range(len(a_)):
            positive = x_[i] > 0
            u = a_[i] * (up if positive else down)
            v = b_[i] * (down if positive else up)
            a_[i], b_[i] = u, v
            w = u - v
            squares += w * w
            products += w * y_[i]
        product += products
        square += squares
    return product, square


@part
def step(halves: Array, signs: Array, after: Array, up: float, down: float) -> tuple[float, float]:
    """Make a multiplicative step on the example `signs` [d], for weights w = a − b, or w = a.

    `halves` [2, d] contains a and b, and `halves` [1, d] contains a. Each a_i is multiplied by `up` where the
    example is +1, and by `down` where it is −1. For b_i, the two factors are exchanged. Return the product of
    the new w with the next example, `after` [d], and ‖w‖².
    """
    # Factors have the dtype of the weights; with float64 factors, the whole loop would compute in float64.
    rounded_up, rounded_down = halves.dtype.type(up), halves.dtype.type(down)
    if len(halves) == 1:
        return multiply(halves[0], signs, after, rounded_up, rounded_down)
    return multiply_both(halves[0], halves[1], signs, after, rounded_up, rounded_down)


@part
def weight(halves: Array, i: int) -> Any:
    """Return entry i of the weight vector w: a_i − b_i, or a_i if `halves` has no b."""
    return halves[0, i] if len(halves) == 1 else halves[0, i] - halves[1, i]


@part
def factors(members: Any, member: int, residual: float) -> tuple[float, float]:
    """Return the two factors of a weight a_i in a step: for x_i = +1 and for x_i = −1.

    They depend on `residual`, which is ŷ − y on the example x.
    """
    pull = members.rates[member] * residual
    up, down = 1.0 - pull, 1.0 + pull
    if members.exponential:
        down = math.exp(pull)
        up = 1.0 / down
    if members.squared:
        up, down = up * up, down * down
    return up, down


@part
def step_apart(members: Any, member: int, signs: Array, up: float, down: float) -> float:
    """Make a multiplicative step on the example `signs` [d], for the entries of w where w*_i ≠ 0.

    These entries are stored in `members.apart`; w* is the target. Return Σ (w_i − w*_i)² over these entries.
    """
    apart, loss = members.apart[member], 0.0
    up, down = apart.dtype.type(up), apart.dtype.type(down)
    for n in range(apart.shape[1]):
        positive = signs[members.places[member, n]] > 0
        apart[0, n] *= up if positive else down
        if len(apart) == 2:
            apart[1, n] *= down if positive else up
        loss += np.float64(weight(apart, n) - members.sizes[member, n]) ** 2
    return loss


@part
def residual_apart(members: Any, member: int, signs: Array) -> float:
    """Return Σ x_i (w_i − w*_i) over the entries with w*_i ≠ 0, for the example x = `signs` [d].

    The sum is the part of the residual that these entries contribute. They are stored in `members.apart`.
    """
    apart, total = members.apart[member], 0.0
    for n in range(apart.shape[1]):
        total += signs[members.places[member, n]] * np.float64(weight(apart, n) - members.sizes[member, n])
    return total


@part
def assemble(members: Any, member: int, weights: Array) -> None:
    """Assemble the weight vector w [d] of one batch member, and write it to `weights`."""
    halves = members.halves[member]
    for i in range(len(weights)):
        weights[i] = weight(halves, i)
    for n in range(members.places.shape[1]):
        weights[members.places[member, n]] = weight(members.apart[member], n)


@part
def butterflies(x: Array, least: int) -> None:
    """Replace pairs of entries of x by their sums and differences, in place, in several rounds.

    The two entries of a pair have the distance `least` in the first round, and twice the previous distance in
    every later round. With `least` = 1, the result is the Walsh–Hadamard transform of x.
    """
    apart = least
    while apart < len(x):
        for first in range(0, len(x), 2 * apart):
            low, high = x[first : first + apart], x[first + apart : first + 2 * apart]
            for i in range(apart):
                total, difference = low[i] + high[i], low[i] - high[i]
                low[i], high[i] = total, difference
        apart *= 2


@part
def transform(x: Array, turned: Array) -> None:
    """Compute the products of x [d] with all rows of the Sylvester matrix, and write them to `turned` [d].

    The array x is overwritten. For d < LOW² with the constant LOW of this file, the product with row h of the
    matrix has the index h in `turned`. For larger d, it has the index (h mod LOW) · d/LOW + ⌊h/LOW⌋.
    """
    d = len(x)
    if d < LOW * LOW:
        for i in range(d):
            turned[i] = x[i]
        butterflies(turned, 1)
        return
    butterflies(x, LOW)
    columns = d // LOW
    for m in range(columns):
        for low in range(LOW):
            turned[low * columns + m] = x[m * LOW + low]
    butterflies(turned, columns)


@part
def count_right(weights: Array, turned: Array, labels: Array, tie: float) -> int:
    """Return the number of rows that w predicts right, minus the number of rows predicted wrong.

    The array `weights` [d] contains w, and is overwritten. `labels` [d] are those of all rows of the
    Sylvester matrix. A prediction of absolute value at most `tie` counts as neither right nor wrong.
    """
    transform(weights, turned)
    right, limit = 0, weights.dtype.type(tie)
    for i in range(len(turned)):
        margin = turned[i] if labels[i] > 0 else -turned[i]
        right += (1 if margin > limit else 0) - (1 if margin < -limit else 0)
    return right


@part
def record(members: Any, records: Any, member: int, after: int, scratch: Array) -> None:
    """Store one weight vector after `after` examples, and count its right predictions.

    The weights are stored only if `records.slots[after]` is not −1, and only for the first replica and the
    first target. Predictions are counted only if `records.counted[after]` is not −1.
    """
    of_replica = len(members.halves) // len(records.labels)
    slot, count = records.slots[after], records.counted[after]
    if slot >= 0 and member < of_replica and member % records.stride == 0:
        assemble(members, member, records.weights[slot, member // records.stride])
    if count >= 0:
        assemble(members, member, scratch[0])
        labels = records.labels[member // of_replica, member % records.labels.shape[1]]
        records.right[count, member] = count_right(scratch[0], scratch[1], labels, records.tie)


@loop
def learn(members: Any, signs: Array, records: Any, scratch: Array, begin: int, end: int) -> None:
    """Train the weight vectors `begin` to `end` − 1 on K examples with entries `signs`, int8 [R, K, d]."""
    replicas, count = signs.shape[0], signs.shape[1]
    for member in range(begin, end):
        record(members, records, member, 0, scratch)
    for block in range(0, count, BLOCK):
        for member in range(begin, end):
            examples = signs[member // (len(members.halves) // replicas)]
            # With factors of 1, `step` only computes the product with the first example.
            product, _ = step(members.halves[member], examples[block], examples[block], 1.0, 1.0)
            for k in range(block, min(count, block + BLOCK)):
                residual = product + residual_apart(members, member, examples[k])
                up, down = factors(members, member, residual)
                loss = step_apart(members, member, examples[k], up, down)
                after = examples[min(k + 1, count - 1)]
                product, square = step(members.halves[member], examples[k], after, up, down)
                records.losses[k, member] = square + loss
                record(members, records, member, k + 1, scratch)
