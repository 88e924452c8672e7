"""Outer products of the rows of Hadamard matrices."""

from __future__ import annotations

import math
from functools import reduce
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import MOST, BadField, Factors, Several, Side, check_factors, factor_sizes
from engine.core.streams import Streams
from engine.problems.hadamard_matrices import hadamard
from engine.problems.matrices import Arrangement, Matrix, MatrixStructure, PermuteRows, RowNumbers, Rows
from engine.problems.matrices.hadamard import arranged, check_order, is_power_of_two, placed

BY_DEFAULT = (8, 8)
"""Default sizes of the factors."""


class Outer(Matrix, frozen=True, tag="outer"):
    """All D = d₁⋯d_r outer products x¹ ⊗ … ⊗ xʳ of rows of r Hadamard matrices, one row of each.

    With two factors, the instances are matrices x zᵀ, with predictions xᵀWz. Among the entries of an
    instance, the index of the last factor varies fastest. With two factors, entry (i, j) of x zᵀ is therefore
    feature i·d₂ + j. `factors` lists the sizes of the factors. Alternatively, `side` is the size of all
    factors, and `count` is the number of factors. Without these fields, there are two factors of size 8. With
    two factors, expressions in other parts of the experiment may use their sizes as `rows` and `columns`.

    With `row_signs`, every row of every factor has a random sign, Σ d_l signs in total. The instances are
    still the rows of a Hadamard matrix of order D. If the target is a feature, a label is an entry of a
    Hadamard matrix, times the signs of the instance's r rows. The products of these signs are not independent
    for the D instances, so bounds that require independent signs do not apply. With a single factor, the
    signs are independent, and the matrix is that of `hadamard`. Source: theory/hadamard#factors.
    """

    factors: Factors = None
    side: Side = None
    count: Several = None
    permute: PermuteRows = True
    row_signs: Annotated[
        bool,
        Meta(
            title="row signs",
            description="give every row of every factor a random sign, which multiplies instances and labels",
        ),
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_factors(self.factors, self.side, self.count)
        place = "factors" if self.side is None else "side"
        for size in self.sizes:
            check_order(size, place)
        if (product := math.prod(self.sizes)) > MOST:
            raise BadField(
                place, f"the product of all sizes of factors is {product}; it must be at most {MOST}"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        return factor_sizes(self.factors, self.side, self.count) or BY_DEFAULT

    def structure(self) -> MatrixStructure:
        sizes = self.sizes
        structure = super().structure()
        return structure._replace(
            row_values="signs",
            named_sizes=dict(zip(("rows", "columns"), sizes, strict=True)) if len(sizes) == 2 else {},
            constant_column=0,
            is_hadamard=not self.row_signs or len(sizes) == 1,
            is_scaled_orthogonal=True,
            sign_factors=sizes if self.row_signs else (),
            is_sylvester=all(map(is_power_of_two, sizes)) and not self.rotate,
            random_order=self.permute,
            random_signs=self.row_signs and len(sizes) == 1,
        )

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        entries = math.prod(self.sizes)
        return entries, entries

    def row_numbers(self, streams: Streams) -> RowNumbers:
        order = self._drawn_order(streams)
        return RowNumbers(tuples=np.stack(np.unravel_index(order, self.sizes), -1))

    def arrangement(self, streams: Streams) -> Arrangement:
        order = self._drawn_order(streams)
        signs = np.ones(order.shape, np.int8)
        if self.row_signs:
            drawn = np.split(streams("signs").signs(sum(self.sizes)), np.cumsum(self.sizes)[:-1], 1)
            for of_factor, rows in zip(drawn, np.unravel_index(order, self.sizes), strict=True):
                signs *= np.take_along_axis(of_factor, rows, 1)
        return Arrangement(order, signs)

    def rows(self, streams: Streams) -> Rows:
        return placed(reduce(np.kron, map(hadamard, self.sizes)), self.arrangement(streams))

    def _drawn_order(self, streams: Streams) -> NDArray[np.int64]:
        return arranged(streams, math.prod(self.sizes), self.permute, row_signs=False).order
