"""Targets: what labels the instances."""

from __future__ import annotations

from typing import ClassVar

from engine.parts import Part, Values
from engine.problems.matrices import Matrix, Rows
from engine.streams import Streams


class Target(Part, frozen=True):
    """A rule that gives every instance m labels, one per target."""

    unit: ClassVar[bool] = False
    """Whether every target is a combination w* of features with ‖w*‖ = 1, chosen without a look at them."""

    def columns(self, matrix: Matrix) -> int:
        """m: how many targets are learned at once."""
        return 1

    def labels(self, matrix: Matrix, features: Rows, streams: Streams) -> Rows:
        """Labels [R, m, n] of rows of features [R, n, D]. Raises BadInput if they do not fit the matrix."""
        raise NotImplementedError

    def check(self, matrix: Matrix) -> None:
        """Raises BadInput if this target does not fit the matrix."""

    def values(self, matrix: Matrix) -> Values:
        """What every label is before noise."""
        return matrix.feature_values
