"""A matrix of low rank as the target."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import BadInput, Count, Pair, Positive, no_pair, pair_of
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure


class LowRank(Target, frozen=True, tag="low-rank"):
    """The label is y = Σ_ij W*_ij x_ij with a random matrix W* of low rank, for instances that are matrices.

    W* is A Bᵀ for Gaussian A and B with `rank` columns, scaled to ‖W*‖_F = `norm`, one draw per replica. The
    entries of W*, row by row, are w*. Source: WGL20; theory/implicit-bias#matrix-completion.
    """

    factors: Pair = None
    rank: Annotated[Count, Meta(title="rank", description="rank of W*")] = 1
    norm: Annotated[
        Positive,
        Meta(title="‖W*‖_F", description="Frobenius norm: square root of the sum of all squared entries"),
    ] = 1.0

    def structure(self, matrix: Matrix) -> TargetStructure:
        return TargetStructure(linear=True, has_w_star=True, unit=self.norm == 1, is_odd=True)

    def check(self, matrix: Matrix) -> None:
        d = matrix.feature_count()
        if (why := no_pair(self.factors, d)) is not None:
            raise BadInput("problem.target.factors", why)
        if self.rank > (least := min(pair_of(self.factors, d))):
            raise BadInput(
                "problem.target.rank", f"W* cannot have the rank {self.rank}; take at most {least}"
            )

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        d = matrix.feature_count()
        rows, columns = pair_of(self.factors, d)
        stream = streams("target")
        product = stream.normal(rows, self.rank) @ stream.normal(self.rank, columns)
        sizes = product.reshape(len(product), 1, d)
        sizes *= self.norm / np.linalg.norm(sizes, axis=2, keepdims=True)
        return Combination(np.tile(np.arange(d), (len(sizes), 1, 1)), sizes)
