"""The Marchenko–Pastur law for the eigenvalues of the Gram matrix of Gaussian rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.formulas.marchenko_pastur import mean_density
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure


class MarchenkoPastur(Line, frozen=True, tag="marchenko-pastur"):
    """√((λ₊ − x)(x − λ₋))/(2παx), λ± = (1 ± √α)²: density of the eigenvalues of XXᵀ/d, for α = n/d ≤ 1.

    The line is the limit for many Gaussian rows at a constant ratio n/d. The chart shows the mean density in
    every bin. Source: Marchenko, Pastur 1967; theory/regions-and-random-matrices#random-matrices.
    """

    title: ClassVar[str] = "Marchenko–Pastur law"
    measure: ClassVar[str] = "instance-density"
    formula: ClassVar[str] = "√((λ₊ − x)(x − λ₋))/(2παx), λ± = (1 ± √α)²"
    source: ClassVar[str] = "Marchenko, Pastur 1967"

    def structure(self) -> LineStructure:
        return LineStructure(direction="asymptotic", limit="for many rows", needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return fewer_gaussian_rows(experiment, experiment.d)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return Finding(True, f"the eigenvalues are those of the instances, whatever {learner.name} learns")

    def value(self, at: At) -> Floats:
        centres = at.indices["eigenvalue"]
        width = 2 * centres[0]
        ends = np.append(centres - width / 2, centres[-1] + width / 2)
        return mean_density(at.experiment.n / at.experiment.d, ends)


def fewer_gaussian_rows(setup: Setup, limit: int) -> Finding:
    """Return whether the instances are at most `limit` independent Gaussian rows, and the reason."""
    matrix = setup.problem.matrix
    if not matrix.structure().isotropic:
        return Finding(False, f"requires independent Gaussian rows, and the matrix is {matrix.kind}")
    if setup.n > limit:
        return Finding(False, f"requires at most {limit} rows, and there are {setup.n}")
    return Finding(True, "instances are independent Gaussian rows, and there are fewer rows than features")
