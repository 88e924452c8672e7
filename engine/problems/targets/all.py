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

    single_feature: ClassVar[bool] = True

    def columns(self, matrix: Matrix) -> int:
        return matrix.features()

    def labels(self, matrix: Matrix, instances: Rows, streams: Streams) -> Rows:
        return instances.swapaxes(1, 2)
