"""Scaled unit vectors."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import Dimension
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, PermuteRows, Rows, RowSigns


class Orthogonal(Matrix, frozen=True, tag="orthogonal"):
    """Scaled unit vectors, X = √d·I: orthogonal rows as long as those of a Hadamard matrix.

    A rotation-invariant learner cannot distinguish these rows from the rows of a Hadamard matrix H, because H
    is X·(H/√d), and H/√d is orthogonal. Every feature is ±√d on one row and 0 on all other rows. With
    `permute`, the rows are in a uniformly random order. With `row_signs`, every row and its label get the
    same random sign. With `rotate`, X is √d times a random orthogonal matrix. Source: WKA21 §3;
    theory/conventions#matrices.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features and of rows")] = 128
    permute: PermuteRows = True
    row_signs: RowSigns = True

    def structure(self) -> MatrixStructure:
        structure = super().structure()
        return structure._replace(
            is_scaled_orthogonal=True, random_order=self.permute, random_signs=self.row_signs
        )

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.d, self.d

    def rows(self, streams: Streams) -> Rows:
        rows = np.tile(np.sqrt(self.d) * np.eye(self.d), (len(streams.seeds), 1, 1))
        if self.permute:
            rows = np.take_along_axis(rows, streams("order").permutation(self.d)[:, :, None], 1)
        if self.row_signs:
            rows *= streams("signs").signs(self.d, 1)
        return rows
