"""Gradient descent."""

from __future__ import annotations

from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Plain, Rate


class GD(Plain, frozen=True, tag="gd"):
    """Gradient descent: w ← w − η g.

    Source: theory.md §4.
    """

    lr: Rate = 0.00390625

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "gradient descent keeps first-layer weights in the span of the instances")
