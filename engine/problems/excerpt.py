"""Some entries of the instances, made without the others where the matrix has a structure."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.core.streams import Streams
from engine.problems.matrices import Arrangement, Matrix, Rows, drawn_rows

Whole = NDArray[np.integer[Any]]

MOST_ENTRIES = 1 << 22
"""A matrix that has to be drawn as a whole for a few of its entries has at most so many."""

MOST_ROTATED = 1 << 18
"""The same of one whose instances are rotated, for which a random rotation is drawn."""


def can_excerpt(matrix: Matrix) -> bool:
    """Whether some entries of the instances can be had without more work or memory than a picture is worth.

    Raises: BadInput for a file that cannot be used.
    """
    return matrix.structure().is_sylvester or math.prod(matrix.shape()) <= (
        MOST_ROTATED if matrix.rotate else MOST_ENTRIES
    )


def excerpt(matrix: Matrix, seed: int, rows: slice, features: slice) -> Rows:
    """These entries of the instances that a replica with this seed sees, in their order, [rows, features].

    Of matrices for which `can_excerpt` holds. Raises: BadInput for a file that cannot be used.
    """
    if matrix.structure().is_sylvester:
        arrangement = _arrangement(matrix, seed)
        columns = np.arange(matrix.shape()[1])[features]
        return _of_sylvester(
            arrangement.order[0, rows], arrangement.signs[0, rows], columns, arrangement.shifted
        )
    return _whole(matrix, seed)[rows, features]


def _of_sylvester(order: Whole, signs: Whole, columns: Whole, shifted: bool) -> Rows:
    """Entry (i, j) of Sylvester's matrix is (−1)^popcount(i & j)."""
    entries = 1.0 - 2.0 * (np.bitwise_count(order[:, None] & columns) % 2)
    signed: Rows = signs[:, None] * entries
    return (signed + 1) / 2 if shifted else signed


@lru_cache(maxsize=2)
def _arrangement(matrix: Matrix, seed: int) -> Arrangement:
    arrangement = matrix.arrangement(Streams([seed]))
    return arrangement if matrix.repeat is None else arrangement.repeated(matrix.repeat)


@lru_cache(maxsize=2)
def _whole(matrix: Matrix, seed: int) -> Rows:
    streams = Streams([seed])
    instances: Rows = matrix.instances(drawn_rows(matrix, streams), streams)[0]
    return instances
