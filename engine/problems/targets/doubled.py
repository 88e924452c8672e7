"""All features and their negatives as targets at once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target


class Doubled(Target, frozen=True, tag="doubled"):
    """Every feature and its negative is a target, [H, −H]: 2d problems, the loss averaged over them.

    The average label of every row is 0, so that no start of the weights is of use. Source: WKA21 Thms 10, 12;
    theory.md §2.
    """

    has_w_star: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    with_negatives: ClassVar[bool] = True

    @property
    def unit(self) -> bool:
        return True

    def columns(self, matrix: Matrix) -> int:
        return 2 * matrix.feature_count()

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        features = np.arange(matrix.feature_count())
        plus, minus = (Combination.of(features, size, len(streams.seeds)) for size in (1.0, -1.0))
        return Combination(*(np.concatenate(halves, axis=1) for halves in zip(plus, minus, strict=True)))

    def values(self, matrix: Matrix) -> Values:
        return "signs" if matrix.feature_values == "signs" else "any"
