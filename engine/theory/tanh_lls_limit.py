"""The loss of least squares with tanh applied to its predictions, for random instances ±1.

The loss is computed in the limit of many dimensions.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, only_square, shown_once

REACH, POINTS = 12.0, 481
"""Half-width of the integration range in standard deviations, and the number of its points. With these
values, the error of the trapezoidal rule is below rounding.
"""


class TanhLLSLimit(Line, frozen=True, tag="tanh-lls-limit"):
    """(1 − k/n) mmse(ρ/(1 − ρ)): loss of tanh applied to least squares, after k of n random rows of ±1.

    Here ρ = k/d and mmse(s) = 1 − E tanh(s + √s Z), with Z ~ N(0, 1). The solver `tanh-lls` applies a scaled
    tanh to the predictions of least squares. The theory line is the limit of the solver's loss for d → ∞ with
    ρ fixed. The rows are random vectors of d entries ±1, and the label is one of these entries. Then the
    least-squares prediction xᵀw for an unseen row is a multiple of the label plus Gaussian noise. Among
    linear functions of xᵀw, the best estimate of the label is xᵀw itself, with the error 1 − ρ. Among all
    functions of xᵀw, the best estimate has the error mmse(ρ/(1 − ρ)). For every ρ, this error is below
    `ri-rademacher`, the bound for learners that are linear in the labels. Derived here; no earlier statement
    is known to us. Source: theory/hadamard#random-signs.
    """

    title: ClassVar[str] = "limit"
    formula: ClassVar[str] = "(1 − k/n) mmse(ρ/(1 − ρ)), ρ = k/d, mmse(s) = 1 − E tanh(s + √s Z)"
    source: ClassVar[str] = "derived here, theory/hadamard#random-signs"

    def structure(self) -> LineStructure:
        return LineStructure(direction="asymptotic", limit="for large d", of="tanh of least squares")

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if repeated := shown_once(experiment):
            return repeated
        if not problem.matrix.structure().independent_signs:
            return Finding(False, f"requires random ±1 instances, and the matrix is {problem.matrix.kind}")
        structure = problem.target_structure
        features = structure.unit and structure.values == "signs"  # products of features have other values
        if not features or problem.labels == "bernoulli" or problem.noise > 0:
            return Finding(
                False, "requires labels that are equal to one of the features, and these labels are not"
            )
        return only_square(experiment) or Finding(
            True, "for a new row, least squares predicts a multiple of the label plus Gaussian noise"
        )

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        if learner.solver is None or learner.solver.kind != "tanh-lls":
            return Finding(
                False, f"this theory line is the loss of the solver `tanh-lls`, not of {learner.name}"
            )
        return Finding(True, f"{learner.name} is the solver `tanh-lls`, whose loss this theory line is")

    def value(self, at: At) -> Floats:
        n, d = at.experiment.n, at.experiment.d
        curve: Floats = (1 - at.k / n) * unseen(at.k / d)
        return curve


def unseen(rho: Floats) -> Floats:
    """Return the expected loss mmse(ρ/(1 − ρ)) of an unseen row, for every ρ. For ρ ≥ 1, the loss is 0."""
    costs = np.zeros(len(rho))
    under = rho < 1
    s = (rho[under] / (1 - rho[under]))[:, None]
    z = np.linspace(-REACH, REACH, POINTS)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    costs[under] = (1 - np.tanh(s + np.sqrt(s) * z)) @ density * (z[1] - z[0])
    return costs
