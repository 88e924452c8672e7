"""Sylvester's rows in the order for which the architecture `two-layer-decoder` is constructed."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import BadField, Dimension
from engine.core.streams import Streams
from engine.problems.hadamard_matrices import sylvester
from engine.problems.matrices import Arrangement, Matrix, MatrixStructure, Rows
from engine.problems.matrices.hadamard import is_power_of_two


class OrderedHadamard(Matrix, frozen=True, tag="ordered-hadamard"):
    """Sylvester's matrix with its rows in the order 0, d/2, 1, 2, …, d/2 − 1, and then d/2 + 1, …, d − 1.

    Row a + d/2 is the entrywise product of rows a and d/2. So if labels are a feature or its negative,
    y_(a + d/2) = y_a y_(d/2) y_0. The first d/2 + 1 labels therefore determine all other labels. Row 0 has
    only ones, so y_0 is −1 for a negated feature. The architecture `two-layer-decoder` is constructed for
    this order. Source: theory/hadamard#two-layers.
    """

    d: Annotated[Dimension, Meta(title="d", description="number of features and of rows: a power of two")] = (
        32
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_power_of_two(self.d):
            below = 1 << (self.d.bit_length() - 1)
            raise BadField("d", f"{self.d} is not a power of two; take {below} or {2 * below}")

    def structure(self) -> MatrixStructure:
        structure = super().structure()
        return structure._replace(
            row_values="signs",
            constant_column=0,
            is_hadamard=True,
            in_halves=self.repeat is None,
            is_sylvester=not self.rotate,
        )

    @property
    def second_moment(self) -> float:
        return 1.0

    def size(self) -> tuple[int, int]:
        return self.d, self.d

    def arrangement(self, streams: Streams) -> Arrangement:
        half = self.d // 2
        order = np.array([0, half, *range(1, half), *range(half + 1, self.d)])
        orders = np.tile(order, (len(streams.seeds), 1))
        return Arrangement(orders, np.ones(orders.shape, np.int8))

    def rows(self, streams: Streams) -> Rows:
        return sylvester(self.d).astype(np.float32)[self.arrangement(streams).order]
