"""Final sharpness of an infinitely wide net of two linear layers that is trained with large steps."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas import catapult
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure
from engine.theory.catapult_loss import TwoLinearLayers


class CatapultLimit(TwoLinearLayers, frozen=True, tag="catapult-limit"):
    """κ_∞/κ₀, κ₀ = ηS₀: the ratio of the final sharpness to the initial sharpness S₀, as the width m → ∞.

    `catapult-loss` defines the prediction z, the kernel λ, q and γ = 2η. With s = γ²qz² and κ = γλ, a step is
    s′ = s(1 − κ + s)² and κ′ = κ + s(κ − 4). At the start, s ≃ 0. The ratio is 1 if κ₀ ≤ 2. For κ₀ between 2
    and 4, the final κ is below 2, and is not monotonic in κ₀. The line is the mean over starts. For κ₀ up to
    2.6, all wide nets end within 0.001 of this mean. For larger κ₀, the final κ of a net depends on its
    start. For κ₀ ≥ 4, the net diverges, and the line has no value. For κ₀ < 4, the line has a value at the
    last evaluation point only. Source: LBD20; theory/curvature#catapult.
    """

    title: ClassVar[str] = "wide limit"
    measure: ClassVar[str] = "relative-sharpness"
    formula: ClassVar[str] = "κ_∞/κ₀, κ = 2ηλ with the kernel λ, κ₀ = ηS₀"
    source: ClassVar[str] = "LBD20"

    def structure(self) -> LineStructure:
        return (
            super()
            .structure()
            ._replace(direction="asymptotic", limit="for wide nets", per_replica=False, of="the catapult")
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding = super().binds(learner, experiment)
        if finding.holds and learner.rate_unit != "start-sharpness":
            return Finding(
                False,
                f"the line requires rate_unit = start-sharpness, and {learner.name} has {learner.rate_unit}",
            )
        return finding

    def value(self, at: At) -> Floats:
        records = len(at.clocks["step"])
        last = catapult.landing(at.rate).product / at.rate
        return np.where(np.arange(records) == records - 1, last, np.nan)
