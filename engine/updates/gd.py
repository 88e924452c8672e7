"""Gradient descent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import EUCLIDEAN, Mirror, Plain, Rate, UpdateStructure


class GD(Plain, frozen=True, tag="gd"):
    """Gradient descent: w ← w − η g.

    Source: theory/conventions#update-rules.
    """

    lr: Rate = 0.00390625

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(by_operators=True, along_gradients=True, exponentiates="products", stable_up_to=2.0)
        )

    def response(self, steps: int) -> NDArray[np.float64]:
        return np.ones(steps)

    @property
    def mirror(self) -> Mirror:
        return EUCLIDEAN

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "gradient descent keeps first-layer weights in the span of the instances")
