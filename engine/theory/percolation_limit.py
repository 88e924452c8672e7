"""The limit of the bound `percolation` for large factors, with pairs in random order."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure, loss_constant
from engine.theory.percolation import OfFactors, Percolation

ITERATIONS = 10_000
"""Largest number of fixed-point iterations, starting at ρ = 1. A few iterations usually reach the fixed point
up to rounding. Many are needed for k near √(d d′), where the fixed point is 0.
"""


class PercolationLimit(OfFactors, frozen=True, tag="percolation-limit"):
    """c(1 − ρρ′), ρ = 1 − e^(−κρ′), ρ′ = 1 − e^(−κ′ρ), κ = k/d, κ′ = k/d′: limit of the percolation bound.

    The bound and the graph are those of `percolation`. ρ and ρ′ are the shares of rows and columns in the
    largest component of a random bipartite graph, as d, d′ → ∞ with κ and κ′ fixed. For k < √(d d′), both
    shares are 0. For d = d′, the line is 1 − ρ². At d = d′ = 16, the mean of `percolation` over random orders
    is up to 0.13 below the limit. The line is the limit of the loss of `path-rule`, which attains
    `percolation`. Source: theory/hadamard#factors.
    """

    title: ClassVar[str] = "percolation limit"
    formula: ClassVar[str] = "c(1 − ρρ′), ρ = 1 − e^(−kρ′/d), ρ′ = 1 − e^(−kρ/d′)"
    source: ClassVar[str] = "derived here from the giant component, theory/hadamard#factors"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="asymptotic", limit="for large d", needs_k_rows=True)

    def holds(self, experiment: Setup) -> Finding:
        finding = Percolation().holds(experiment)
        if finding.holds and not experiment.problem.matrix.structure().random_order:
            return Finding(False, "requires the rows in random order, and `permute` is off")
        return finding

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        if learner.solver is None or learner.solver.kind != "path-rule":
            return Finding(False, f"the line is the loss of the solver `path-rule`, not of {learner.name}")
        return super().binds_by_verdict(learner, experiment, judged)

    def value(self, at: At) -> Floats:
        d, other = at.experiment.problem.matrix.structure().sign_factors
        return loss_constant(at.experiment) * limit(at.k / d, at.k / other)


def limit(kappa: Floats, other: Floats) -> Floats:
    """Return 1 − ρρ′, where ρ and ρ′ are the largest solution of ρ = 1 − e^(−κρ′), ρ′ = 1 − e^(−κ′ρ).

    Args:
        kappa: κ = k/d.
        other: κ′ = k/d′.
    """
    rho = np.ones_like(kappa)
    for _ in range(ITERATIONS):
        before, columns = rho, -np.expm1(-other * rho)
        rho = -np.expm1(-kappa * columns)
        if (np.abs(rho - before) < 1e-14).all():
            break
    return np.asarray(1 + rho * np.expm1(-other * rho))
