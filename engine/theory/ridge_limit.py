"""The error of the best ridge regression on the signs of a half-space, in the limit of many dimensions."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.parts import Finding
from engine.formulas import teacher_student
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import LineStructure
from engine.theory.ri_bayes import OfSolver

NEAR = 0.01
"""Largest accepted relative deviation of a penalty from the best penalty. To first order, it does not change
the error.
"""


class RidgeLimit(OfSolver, frozen=True, tag="ridge-limit"):
    """arccos(√(1 − ρ))/π: the error of ridge regression on labels ±1 with the best λ = d(π/2 − 1).

    ρ solves ρ = 1/(1 + αq/(1 + qρ)), where q = s/(1 − s), s = 2/π and α = k/(d − 1). Ridge regression
    minimises the sum of squared errors plus λ‖w‖². The penalty λ = d(π/2 − 1) gives the least error for every
    k. Source: theory/symmetry#half-spaces.
    """

    title: ClassVar[str] = "limit"
    solver: ClassVar[str] = "ridge"
    formula: ClassVar[str] = "arccos(√(1 − ρ))/π, ρ = 1/(1 + αq/(1 + qρ)), q = 2/(π − 2), α = k/(d − 1)"
    source: ClassVar[str] = "theory/symmetry#half-spaces"

    def structure(self) -> LineStructure:
        return super().structure()._replace(of="ridge regression")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        finding = super().binds(learner, experiment)
        best = experiment.d * (math.pi / 2 - 1)
        lam = getattr(learner.solver, "lam", math.nan)
        if finding.holds and not abs(lam / best - 1) <= NEAR:
            return Finding(
                False, f"the line requires λ = d(π/2 − 1) = {best:.4g}, and that of {learner.name} is {lam:g}"
            )
        return finding

    def error(self, alpha: float) -> float:
        return teacher_student.ridge(alpha)
