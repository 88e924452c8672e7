"""The sharpness of a net of two linear layers on one example after every step, for any learning rate."""

from __future__ import annotations

from typing import ClassVar

from engine.formulas import catapult
from engine.theory import At, Floats, LineStructure
from engine.theory.catapult_loss import TwoLinearLayers


class CatapultSharpness(TwoLinearLayers, frozen=True, tag="catapult-sharpness"):
    """S/S₀ with S = λ + √(λ² + 8qzr + 4qr²): the ratio of the sharpness to its value S₀ at the start.

    λ, q, z and r are defined in `catapult-loss`. The line is exact for every replica, up to the rounding of
    eigenvalues. Source: LBD20; theory/curvature#catapult.
    """

    title: ClassVar[str] = "sharpness recursion"
    measure: ClassVar[str] = "relative-sharpness"
    formula: ClassVar[str] = "S/S₀, S = λ + √(λ² + 8qzr + 4qr²)"
    source: ClassVar[str] = "LBD20"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="exact", in_expectation=False)

    def value(self, at: At) -> Floats:
        beginning = self.beginning(at)
        recursion = self.recursion(at, beginning)
        curvature = catapult.sharpness(recursion, beginning.targets, beginning.shares)
        relative: Floats = curvature / curvature[0]
        return relative.T
