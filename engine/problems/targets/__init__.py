"""Targets: what labels the instances."""

from __future__ import annotations

from typing import ClassVar

from engine.parts import Part
from engine.problems.matrices import Matrix, Rows
from engine.streams import Streams


class Target(Part, frozen=True):
    """A rule that gives every instance m labels, one per target."""

    single_feature: ClassVar[bool] = False
    """Whether every target is one of the features, so that w* is a unit vector."""

    def columns(self, matrix: Matrix) -> int:
        """m: how many targets are learned at once."""
        return 1

    def labels(self, matrix: Matrix, instances: Rows, streams: Streams) -> Rows:
        """Labels [R, m, n] of the instances [R, n, d]. Raises BadInput if they do not fit the matrix."""
        raise NotImplementedError

    def check(self, matrix: Matrix) -> None:
        """Raises BadInput if this target does not fit the matrix."""

    def signs_only(self, matrix: Matrix) -> bool:
        """Whether every label (before noise) is +1 or −1."""
        return matrix.signs_only
