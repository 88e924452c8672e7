"""The error of least squares on the signs of a half-space, in the limit of many dimensions."""

from __future__ import annotations

from typing import ClassVar

from engine.formulas import teacher_student
from engine.theory import LineStructure
from engine.theory.ri_bayes import OfSolver


class LLSLimit(OfSolver, frozen=True, tag="lls-limit"):
    """arccos(R)/π: the error of minimum-norm least squares on k labels ±1, for many features d.

    Let α = k/(d − 1). For α > 1, R² = s/(s + (1 − s)/(α − 1)). For α < 1, R² = s α/(s + (1 − s)/(1 − α)). At
    α = 1, R = 0, and the error has its maximum ½. Here s = 2/π is the share of a label's variance that is
    linear in x. Source: theory/symmetry#half-spaces.
    """

    title: ClassVar[str] = "limit"
    solver: ClassVar[str] = "lls"
    formula: ClassVar[str] = "arccos(R)/π, R² = s/(s + (1 − s)/(α − 1)) for α = k/(d − 1) > 1, s = 2/π"
    source: ClassVar[str] = "theory/symmetry#half-spaces"

    def structure(self) -> LineStructure:
        return super().structure()._replace(of="least squares")

    def error(self, alpha: float) -> float:
        return teacher_student.least_squares(alpha)
