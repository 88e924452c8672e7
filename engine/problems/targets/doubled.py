"""All features and their negatives as targets at once."""

from __future__ import annotations

import numpy as np

from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure


class Doubled(Target, frozen=True, tag="doubled"):
    """Every feature and every negated feature is a target, [H, −H]. The loss averages over the 2d targets.

    A start that lowers the loss on a feature raises the loss on the negated feature. Source: WKA21 Thms 10,
    12; theory/conventions#targets.
    """

    def structure(self, matrix: Matrix) -> TargetStructure:
        of_signs = matrix.structure().feature_values == "signs"
        return TargetStructure(
            values="signs" if of_signs else "any",
            linear=True,
            has_w_star=True,
            unit=True,
            with_negatives=True,
            is_odd=True,
            is_never_zero=of_signs,
        )

    def columns(self, matrix: Matrix) -> int:
        return 2 * matrix.feature_count()

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        features = np.arange(matrix.feature_count())
        plus, minus = (Combination.of(features, size, len(streams.seeds)) for size in (1.0, -1.0))
        return Combination(*(np.concatenate(halves, axis=1) for halves in zip(plus, minus, strict=True)))
