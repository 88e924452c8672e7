"""The error of Hebb's rule on a half-space, in the limit of many dimensions."""

from __future__ import annotations

from typing import ClassVar

from engine.formulas import teacher_student
from engine.theory import LineStructure
from engine.theory.ri_bayes import OfSolver


class HebbLimit(OfSolver, frozen=True, tag="hebb-limit"):
    """arctan √(π/(2α))/π with α = k/(d − 1): the error of Hebb's rule for Gaussian rows, as d → ∞.

    Hebb's rule adds up k examples: w = Σ_j y_j x_j. Its error is about 0.4/√α for large α. Source: Vallet
    1989; theory/symmetry#half-spaces.
    """

    title: ClassVar[str] = "limit"
    solver: ClassVar[str] = "hebb"
    formula: ClassVar[str] = "arctan √(π/(2α))/π, α = k/(d − 1)"
    source: ClassVar[str] = "Vallet 1989"

    def structure(self) -> LineStructure:
        return super().structure()._replace(of="Hebb's rule")

    def error(self, alpha: float) -> float:
        return teacher_student.hebb(alpha)
