"""The least error of a rotation-invariant learner of a half-space, in the limit of many dimensions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from engine.core.groups import ROTATIONS
from engine.core.parts import Finding
from engine.formulas import teacher_student
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, RotationInvariant, shown_once


class HalfSpace(Line, frozen=True):
    """Base class of theory lines about the 0/1 error of learners of a half-space.

    Labels are sign(xᵀw*) for Gaussian x in d dimensions. After k examples, the error depends on α = k/(d −
    1), because learned weights err in the d − 1 directions orthogonal to w*. At finite d, measured errors are
    nearer to the limit at this α than at k/d. Source: theory/symmetry#half-spaces.
    """

    measure: ClassVar[str] = "angle-error"

    def structure(self) -> LineStructure:
        return LineStructure(direction="asymptotic", limit="for large d")

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if not problem.matrix.structure().isotropic:
            return Finding(False, f"requires Gaussian instances, and the matrix is {problem.matrix.kind}")
        if repeated := shown_once(experiment):
            return repeated
        if problem.labels != "sign" or problem.noise > 0:
            labels = "noisy" if problem.noise > 0 else problem.labels
            return Finding(
                False, f"requires labels that are signs without noise, and these labels are {labels}"
            )
        if not problem.target_structure.unit:
            return Finding(False, f"requires a unit vector as the target, not {problem.target.kind}")
        if problem.matrix.shape()[1] < 2:
            return Finding(False, "requires two features or more")
        return Finding(True, "labels are the signs of Gaussian instances along one direction")

    @abstractmethod
    def error(self, alpha: float) -> float:
        """Return the 0/1 error in the limit of many dimensions, for α > 0 examples per dimension."""

    def value(self, at: At) -> Floats:
        d = at.experiment.d
        return _errors_by_ratio(self.error, at.k / (d - 1))[(..., *(None,) * len(at.indices))]


class OfSolver(HalfSpace, frozen=True):
    """Base class of theory lines about the error of one solver. The line applies only to this solver."""

    solver: ClassVar[str]
    """Kind of the solver that the line is about."""

    def structure(self) -> LineStructure:
        return super().structure()._replace(per_learner=True)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if learner.solver is None or learner.solver.kind != self.solver:
            return Finding(False, f"the line is the error of {self.solver}, not of {learner.name}")
        return Finding(True, f"the line is the error of {self.solver}, and {learner.name} is this solver")


class RIBayes(HalfSpace, RotationInvariant, frozen=True, tag="ri-bayes"):
    """arccos(√q)/π with α = k/(d − 1): the asymptotic error of Bayes' rule for an unknown direction w*.

    q solves q = 2α ∫ Dξ φ(t)²/Φ(t) for t = ξ √(q/(1 − q)). φ and Φ are the density and the distribution
    function of N(0, 1), and Dξ is the integral over ξ ~ N(0, 1). Labels are the signs of xᵀw*. A
    rotation-invariant learner has the same expected error for every w*, and therefore for w* drawn uniformly
    from the sphere. So the learner's error is at least the Bayes risk for this prior, at any d. The line is
    the limit of this risk as d, k → ∞ with α = k/(d − 1) fixed. For large α, the line is about 0.4417/α, so
    an error of ε takes 0.44 d/ε examples. At a small d, the risk may be slightly below the line. Source:
    Györgyi, Tishby 1990; Barbier et al. 2019; theory/symmetry#half-spaces.
    """

    title: ClassVar[str] = "rotation-invariant Bayes error"
    formula: ClassVar[str] = "arccos(√q)/π, q = 2α ∫ Dξ φ(t)²/Φ(t), t = ξ √(q/(1 − q)), α = k/(d − 1)"
    source: ClassVar[str] = "Györgyi, Tishby 1990; Barbier et al. 2019"

    def structure(self) -> LineStructure:
        return LineStructure(direction="asymptotic", limit="for large d", group=ROTATIONS, needs_k_rows=False)

    def error(self, alpha: float) -> float:
        return teacher_student.bayes(alpha)


def _errors_by_ratio(error: Callable[[float], float], alphas: Floats) -> Floats:
    """Return the 0/1 errors for all ratios α in `alphas`. At α = 0, the error is ½.

    α is the number of examples per dimension. The function `error` is called once for each different α,
    because it solves equations.
    """
    different, places = np.unique(alphas, return_inverse=True)
    errors = np.array([error(float(alpha)) if alpha > 0 else 0.5 for alpha in different])
    return errors[places].reshape(alphas.shape)
