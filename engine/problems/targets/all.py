"""All features as targets at once."""

from __future__ import annotations

from typing import ClassVar

from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target
from engine.streams import Streams


class All(Target, frozen=True, tag="all"):
    """Every feature is a target: d problems learned side by side, the loss averaged over them.

    Source: WV05; WKA21 Thm 9; theory.md §2.
    """

    unit: ClassVar[bool] = True

    def columns(self, matrix: Matrix) -> int:
        return matrix.feature_count()

    def labels(self, matrix: Matrix, features: Rows, streams: Streams) -> Rows:
        return features.swapaxes(1, 2)
