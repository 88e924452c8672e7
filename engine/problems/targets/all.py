"""All features as targets at once."""

from __future__ import annotations

import numpy as np

from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure


class All(Target, frozen=True, tag="all"):
    """Every feature is a target, so d targets are learned side by side. The loss averages over them.

    Source: WV05; WKA21 Thm 9; theory/conventions#targets.
    """

    def structure(self, matrix: Matrix) -> TargetStructure:
        values = matrix.structure().feature_values
        return TargetStructure(
            values=values,
            linear=True,
            has_w_star=True,
            unit=True,
            are_features=True,
            is_odd=True,
            is_never_zero=values == "signs",
        )

    def columns(self, matrix: Matrix) -> int:
        return matrix.feature_count()

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        return Combination.of(np.arange(matrix.feature_count()), 1.0, len(streams.seeds))
