"""The labels that were drawn, and what rank says of predictions of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.core.linear_algebra import one_thread

Floats = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]

EXACT = 1 << 24
"""Whole numbers up to here are numbers of float32."""

PROBES, PIECE = 4, 256
"""Vectors by which orthogonal targets are known, and how many targets are multiplied by them at once."""


class Labels:
    """The labels Y of m targets on n rows that were drawn, and what several lines need of them."""

    def __init__(self, values: Rows) -> None:
        """For labels [R, m, n]."""
        self._values = values
        self.replicas, self.m, self.n = values.shape

    def rank_bound(self, rank: Floats) -> Floats:
        """(1/nm) Σ_{i>r} s_i(Y)² for ranks r: the least mean square error of predictions of that rank."""
        bound: Floats = self._tails[np.minimum(rank, len(self._tails) - 1).astype(int)]
        return bound

    @cached_property
    def _tails(self) -> Floats:
        """The same for ranks 0 … min(m, n), averaged over replicas."""
        squares = np.stack([_squared_singular_values(labels) for labels in self._values])  # [R, min(m, n)]
        tails = np.zeros((len(squares), squares.shape[1] + 1))
        tails[:, :-1] = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
        mean: Floats = tails.mean(0) / (self.n * self.m)
        return mean


def _squared_singular_values(labels: Rows) -> Floats:
    """s_i² of a matrix [m, n], largest first.

    Where its rows are orthogonal, or its columns if it has more rows, these are their squared lengths. All
    features of a Hadamard matrix are such targets, and so are these with their negatives. Inner products of
    other whole numbers are exact, in float32 as long as no sum is larger than EXACT, and s_i² are their
    eigenvalues, found in half the time.
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
    """‖y_i‖² of the rows of a matrix [m, n] if they are orthogonal.

    They are if YYᵀv has the entries ‖y_i‖² v_i for random whole-number vectors v; for another matrix of whole
    numbers, which are exact here, that happens with probability 2⁻⁸⁰ at most.
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
