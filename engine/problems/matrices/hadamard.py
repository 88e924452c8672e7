"""Hadamard matrices."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import BadField, Features
from engine.core.streams import Streams
from engine.problems.hadamard_matrices import hadamard, nearest, reached
from engine.problems.matrices import Arrangement, Matrix, MatrixStructure, PermuteRows, Rows, RowSigns


class Hadamard(Matrix, frozen=True, tag="hadamard"):
    """A Hadamard matrix: d orthogonal rows of ±1, HᵀH = d·I.

    If d is a power of two, H is Sylvester's matrix, with entry (i, j) = (−1)^popcount(i & j). For the other
    orders, 12, 20, 24, 28, 36 …, H is the Kronecker product of a Sylvester matrix and a Paley matrix.
    With `permute`, the rows are in a uniformly random order. With `row_signs`, every row and its label get
    the same random sign, (s h, s y). Column 0 is constant 1 up to the row signs. Source: WKA21 §3; Paley
    1933; theory/conventions#matrices.
    """

    d: Annotated[
        Features, Meta(title="d", description="number of features and of rows: 2, or 4, 8, 12, 16, 20 …")
    ] = 128
    permute: PermuteRows = True
    row_signs: RowSigns = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.d)

    def structure(self) -> MatrixStructure:
        structure = super().structure()
        return structure._replace(
            row_values="signs",
            constant_column=0,
            is_hadamard=True,
            is_sylvester=is_power_of_two(self.d) and not self.rotate,
            random_order=self.permute,
            random_signs=self.row_signs,
        )

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.d, self.d

    def arrangement(self, streams: Streams) -> Arrangement:
        return arranged(streams, self.d, self.permute, self.row_signs)

    def rows(self, streams: Streams) -> Rows:
        return placed(hadamard(self.d), self.arrangement(streams))


def arranged(streams: Streams, n: int, permute: bool, row_signs: bool) -> Arrangement:
    """Return an order of the rows 0 … n−1, and a sign for each row, for every replica.

    The order is 0 … n−1 or, with `permute`, random. All signs are + or, with `row_signs`, random.
    """
    order = streams("order").permutation(n) if permute else np.tile(np.arange(n), (len(streams.seeds), 1))
    signs = streams("signs").signs(n) if row_signs else np.ones(order.shape, np.int8)
    return Arrangement(order, signs)


def placed(matrix: NDArray[np.int8], arrangement: Arrangement) -> Rows:
    """Return a matrix's rows in the order and with the signs of an arrangement, for every replica."""
    rows = matrix[arrangement.order].astype(np.float32)
    rows *= arrangement.signs.astype(np.float32)[:, :, None]
    return rows


def is_power_of_two(d: int) -> bool:
    """Return whether d is a power of two, so that Sylvester's matrix of order d exists."""
    return d & (d - 1) == 0


def check_order(d: int, field: str = "d") -> None:
    """Check that a Hadamard matrix of order d can be constructed. Raises: BadField at `field`."""
    if not reached(d):
        below, above = nearest(d)
        raise BadField(
            field, f"{d} is not an order of the Hadamard matrices offered; take {below} or {above}"
        )
