"""All features as targets at once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target


class All(Target, frozen=True, tag="all"):
    """Every feature is a target: d problems learned side by side, the loss averaged over them.

    Source: WV05; WKA21 Thm 9; theory.md §2.
    """

    has_w_star: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    @property
    def unit(self) -> bool:
        return True

    def are_features(self, matrix: Matrix) -> bool:
        return True

    def columns(self, matrix: Matrix) -> int:
        return matrix.feature_count()

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        return Combination.of(np.arange(matrix.feature_count()), 1.0, len(streams.seeds))

    def values(self, matrix: Matrix) -> Values:
        return matrix.feature_values
