"""The shifted Hadamard problem with features 0 and 1."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Dimension
from engine.core.streams import Streams
from engine.problems.hadamard_matrices import hadamard
from engine.problems.matrices import Arrangement, Floats, Matrix, MatrixStructure, PermuteRows, Rows, RowSigns
from engine.problems.matrices.hadamard import arranged, check_order, is_power_of_two, placed


class Hadamard01(Matrix, frozen=True, tag="hadamard01"):
    """The Hadamard problem shifted to features 0 and 1: X = ½(diag(s) H + 1) without the constant row of H.

    The remaining n = d − 1 rows of H are orthogonal to the constant row. So for all signs s, XXᵀ is
    ¼ d (I + J), where all entries of J are 1. Inner products of instances therefore contain no information on
    labels. With `permute`, the rows are in a uniformly random order. With `row_signs`, a fair coin decides
    every sign s_i; otherwise, all s_i are 1. Labels are features of the shifted rows. Feature j of row i is
    ½(s_i h_ij + 1). Source: WKA21 Thm 4; theory/conventions#matrices.
    """

    d: Annotated[
        Dimension,
        Meta(title="d", description="number of features: 2, 4, 8, 12, 16, 20 …; there are d − 1 rows"),
    ] = 128
    permute: PermuteRows = True
    row_signs: RowSigns = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.d)

    def structure(self) -> MatrixStructure:
        structure = super().structure()
        return structure._replace(
            row_values="bits",
            constant_column=0,
            is_shifted_hadamard=True,
            is_sylvester=is_power_of_two(self.d) and not self.rotate and self.repeat is None,
            random_order=self.permute,
            random_signs=self.row_signs,
        )

    @property
    def second_moment(self) -> Floats:
        """Second moment of the instances, ¼((dI − 11ᵀ)/(d − 1) + 11ᵀ) for random signs.

        This follows from Σ_j h_j h_jᵀ = dI − 11ᵀ, summed over the rows h_j. Without random signs, the term
        ¼(h̄1ᵀ + 1h̄ᵀ) is added. Here h̄ is the mean of the rows, (d − 1)h̄ = d e_0 − 1.
        """
        d = self.d
        moment: Floats = ((d * np.eye(d) - 1) / (d - 1) + 1) / 4
        if not self.row_signs:
            mean = (d * np.eye(d)[0] - 1) / (d - 1)
            moment += (mean[:, None] + mean) / 4
        return moment

    def size(self) -> tuple[int, int]:
        return self.d - 1, self.d

    def arrangement(self, streams: Streams) -> Arrangement:
        order, signs, _ = arranged(streams, self.d - 1, self.permute, self.row_signs)
        order += 1
        return Arrangement(order, signs, shifted=True)

    def rows(self, streams: Streams) -> Rows:
        rows = placed(hadamard(self.d), self.arrangement(streams))
        rows += 1
        rows *= 0.5
        return rows
