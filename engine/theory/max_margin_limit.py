"""The error of the maximum-margin classifier of a half-space, in the limit of many dimensions."""

from __future__ import annotations

from typing import ClassVar

from engine.formulas import teacher_student
from engine.theory import LineStructure
from engine.theory.ri_bayes import OfSolver


class MaxMarginLimit(OfSolver, frozen=True, tag="max-margin-limit"):
    """arccos(R)/π: the error of the hard-margin support vector machine, about 0.5005/α for large α.

    R is the cosine of the angle between the learned weights and the target. Let κ be the margin, z and z′
    standard normal, and α = k/(d − 1). R minimises g(κ, R) = √α √E(κ − R|z| − √(1 − R²) z′)₊² − √(1 − R²).
    The margin κ is the number for which the minimum is 0. Here (·)₊ is the positive part. Source:
    theory/symmetry#half-spaces.
    """

    title: ClassVar[str] = "limit"
    solver: ClassVar[str] = "max-margin"
    formula: ClassVar[str] = "arccos(R)/π, R: cosine of the angle to the target"
    source: ClassVar[str] = "theory/symmetry#half-spaces"

    def structure(self) -> LineStructure:
        return super().structure()._replace(of="the largest margin")

    def error(self, alpha: float) -> float:
        return teacher_student.max_margin(alpha)
