"""The mean of 1/λ over the eigenvalues λ of the Gram matrix of Gaussian rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.marchenko_pastur import fewer_gaussian_rows


class WishartInverse(Line, frozen=True, tag="wishart-inverse"):
    """d/(d − n − 1): the mean of 1/λ over the eigenvalues of XXᵀ/d, for n ≤ d − 2 Gaussian rows.

    The mean is also over draws of the rows X. For large d, the mean approaches 1/(1 − α) with α = n/d. So
    least squares amplifies noise without bound as n approaches d. For n ≥ d − 1, the mean is infinite.
    Source: theory/regions-and-random-matrices#random-matrices.
    """

    title: ClassVar[str] = "inverse Wishart mean"
    measure: ClassVar[str] = "eigenvalue-moment"
    formula: ClassVar[str] = "d/(d − n − 1)"
    source: ClassVar[str] = "theory/regions-and-random-matrices#random-matrices"

    def structure(self) -> LineStructure:
        return LineStructure(direction="exact", needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return fewer_gaussian_rows(experiment, experiment.d - 2)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"the eigenvalues depend on the instances alone, not on {learner.name}")

    def value(self, at: At) -> Floats:
        n, d = at.experiment.n, at.experiment.d
        return np.full(len(at.k), d / (d - n - 1))
