"""Drawn instances and labels as numpy arrays, and excerpts: small parts of the instances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.core.linear_algebra import one_thread
from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Arrangement, Matrix, Rows, drawn_rows

if TYPE_CHECKING:
    from engine.problems.problem import Problem
    from engine.problems.targets import Combination


Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Examples:
    """Drawn instances [R, n, d], with labels [R, m, n] for m targets."""

    instances: Numbers
    labels: Numbers
    values: Values


def examples(problem: Problem, streams: Streams, dtype: str) -> Examples:
    """Draw the examples of a problem, independently for every replica.

    Raises: BadInput for a file that cannot be used.
    """
    combination, streams = problem.target.combination(problem.matrix, streams), streams.of_data()
    instances, labels = tabled(problem, combination, streams)
    labels = given(problem, labels, streams)
    return Examples(
        np.ascontiguousarray(instances, dtype), np.ascontiguousarray(labels, dtype), problem.label_values
    )


def tabled(problem: Problem, combination: Combination | None, streams: Streams) -> tuple[Rows, Rows]:
    """Return the instances [R, n, d], and the target's labels [R, m, n] before `given` converts them."""
    matrix = problem.matrix
    rows = drawn_rows(matrix, streams)
    if combination is None:
        labels = problem.target.labels(matrix, lambda: matrix.named(rows), streams)
    else:
        labels = combination.labels(matrix.columns_of(rows))
    return matrix.instances(rows, streams), labels


def given(problem: Problem, labels: Rows, streams: Streams) -> Rows:
    """Convert a target's labels [R, m, n] to the labels that learners see, [R, m, n].

    As the problem says, a label y stays y, becomes its sign (+1 for y = 0), or becomes a random sign. The
    random sign is +1 with probability 1/(1 + e^(−y)). Label noise comes last.
    """
    _, targets, n = labels.shape
    if problem.labels == "sign":
        labels = np.where(labels < 0, -1.0, 1.0)
    elif problem.labels == "bernoulli":
        heads = streams("labels").uniform(targets, n) < (1 + np.tanh(labels / 2)) / 2
        labels = np.where(heads, 1.0, -1.0)
    if problem.noise > 0:
        labels = labels + problem.noise * streams("noise").normal(targets, n)
    return labels


Whole = NDArray[np.integer[Any]]

MOST_ENTRIES = 1 << 22
"""Maximum number of entries of a matrix that may be drawn completely to show an excerpt of it."""

MOST_ROTATED = 1 << 18
"""Value of MOST_ENTRIES for a rotated matrix, which is smaller because the rotation must be drawn, too."""


def can_excerpt(matrix: Matrix) -> bool:
    """Return whether `excerpt` needs little time and memory for this matrix family.

    Raises: BadInput for a file that cannot be used.
    """
    return matrix.structure().is_sylvester or math.prod(matrix.shape()) <= (
        MOST_ROTATED if matrix.rotate else MOST_ENTRIES
    )


def excerpt(matrix: Matrix, seed: int, rows: slice, features: slice) -> Rows:
    """Return a small part of the instances of one replica: the given rows and features, as a matrix.

    `seed` is the seed of the replica. `can_excerpt(matrix)` must be true. Raises: BadInput for a file that
    cannot be used.
    """
    if matrix.structure().is_sylvester:
        arrangement = _drawn_arrangement(matrix, seed)
        columns = np.arange(matrix.shape()[1])[features]
        return _sylvester_entries(
            arrangement.order[0, rows], arrangement.signs[0, rows], columns, arrangement.shifted
        )
    return _drawn_instances(matrix, seed)[rows, features]


def _sylvester_entries(order: Whole, signs: Whole, columns: Whole, shifted: bool) -> Rows:
    """Return entries s_i h_ij of signed rows of Sylvester's matrix; if `shifted`, ½(s_i h_ij + 1).

    Row i of the result is row `order[i]` of the matrix with the sign `signs[i]`. Entry (i, j) of the matrix
    is (−1)^popcount(i & j).
    """
    entries = 1.0 - 2.0 * (np.bitwise_count(order[:, None] & columns) % 2)
    signed: Rows = signs[:, None] * entries
    return (signed + 1) / 2 if shifted else signed


@lru_cache(maxsize=2)
def _drawn_arrangement(matrix: Matrix, seed: int) -> Arrangement:
    arrangement = matrix.arrangement(Streams([seed]))
    return arrangement if matrix.repeat is None else arrangement.repeated(matrix.repeat)


@lru_cache(maxsize=2)
def _drawn_instances(matrix: Matrix, seed: int) -> Rows:
    streams = Streams([seed])
    instances: Rows = matrix.instances(drawn_rows(matrix, streams), streams)[0]
    return instances


Floats = NDArray[np.float64]

EXACT = 1 << 24
"""Largest n such that float32 represents all integers from 0 to n exactly."""

PROBES, PIECE = 4, 256
"""Number of random vectors in a test of orthogonality, and number of targets per matrix product."""


class DrawnLabels:
    """Labels of m targets on n rows in R replicas, with a cache of their singular values."""

    def __init__(self, values: Rows) -> None:
        self._values = values
        self.replicas, self.m, self.n = values.shape

    def rank_bound(self, rank: Floats) -> Floats:
        """Return the least mean square error of predictions [m, n] with rank r, for every r in `rank`.

        This error is (1/nm) Σ_{i>r} s_i(Y)², averaged over replicas. s_i(Y) are the singular values of the
        labels Y [m, n].
        """
        bound: Floats = self._rank_bounds[np.minimum(rank, len(self._rank_bounds) - 1).astype(int)]
        return bound

    @cached_property
    def _rank_bounds(self) -> Floats:
        """Values of `rank_bound` for all ranks 0, 1, … min(m, n)."""
        squares = np.stack([_squared_singular_values(labels) for labels in self._values])  # [R, min(m, n)]
        tails = np.zeros((len(squares), squares.shape[1] + 1))
        tails[:, :-1] = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
        mean: Floats = tails.mean(0) / (self.n * self.m)
        return mean


def _squared_singular_values(labels: Rows) -> Floats:
    """Return the squared singular values s_i² of a matrix [m, n] of labels, largest first.

    A matrix with more rows than columns is first transposed. If the rows are then orthogonal, s_i² are their
    squared lengths. For example, the rows are orthogonal if the targets are the features of a Hadamard
    matrix, with or without their negatives. For other matrices of integers, s_i² are computed as eigenvalues
    of the matrix of inner products, which takes half the time of an SVD. Inner products of integers are exact
    in float64, and also in float32 if no sum exceeds EXACT.
    """
    wide = labels if len(labels) <= labels.shape[1] else labels.T
    if (lengths := _lengths_if_orthogonal(wide)) is not None:
        return np.sort(lengths)[::-1]
    with one_thread(len(wide)):
        if np.array_equal(wide, np.rint(wide)):
            short = np.square(wide, dtype=np.float64).sum(1).max() <= EXACT
            integers: Rows = wide.astype(np.float32 if short else np.float64)
            inner = (integers @ integers.T).astype(np.float64)
            squares: Floats = np.maximum(np.linalg.eigvalsh(inner)[::-1], 0.0)
            return squares
        return np.square(np.linalg.svd(wide.astype(np.float64), compute_uv=False))


def _lengths_if_orthogonal(labels: Rows) -> Floats | None:
    """Return the squared lengths ‖y_i‖² of the rows of Y [m, n], or None if rows are not orthogonal.

    The test checks YYᵀv = (‖y_i‖² v_i)_i for random integer vectors v. If Y has integer entries, all numbers
    are exact, and the test errs with probability at most 2⁻⁸⁰.
    """
    probes = np.random.default_rng(0).integers(0, 1 << 20, (len(labels), PROBES)).astype(np.float64)
    images, lengths = np.zeros((labels.shape[1], PROBES)), np.empty(len(labels))
    pieces = [slice(first, first + PIECE) for first in range(0, len(labels), PIECE)]
    for piece in pieces:
        rows = labels[piece].astype(np.float64)
        images += rows.T @ probes[piece]
        lengths[piece] = np.einsum("mn,mn->m", rows, rows)
    expected = lengths[:, None] * probes
    same = (np.array_equal(labels[piece].astype(np.float64) @ images, expected[piece]) for piece in pieces)
    return lengths if all(same) else None
