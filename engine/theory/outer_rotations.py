"""A lower bound on the loss of rotation-invariant learners, for products of several factors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure, RotationInvariant, only_square
from engine.theory.percolation import OfFactors


class OuterRotations(RotationInvariant, frozen=True, tag="outer-rotations"):
    """1 − (k+1)/D, D = d₁⋯d_r, on products of r factors: no learner that is invariant under O(D) does better.

    The bound holds in expectation over the signs of the rows, for square loss. The order of the instances
    must be independent of the signs. If all factors have an even number d_l of rows, the bound is tight at k
    = D − 1: the product of all labels seen then equals the last label. If the rows had D independent signs,
    the bound would be 1 − k/D, as in `ri-signed`. Derived here; no earlier statement is known to us. Source:
    theory/hadamard#factors.

    Proof: all m = D − k unseen rows are orthogonal to the rows seen and to each other. So, given the rows
    seen, a prediction has the same mean p on all unseen rows. On these rows, the summed loss is Σ(p − y)² ≥ m
    − S²/m, where S is the sum of their labels. E S² = m, because labels are pairwise independent with mean 0.
    """

    title: ClassVar[str] = "rotation bound on products"
    formula: ClassVar[str] = "1 − (k+1)/(d₁⋯d_r)"
    source: ClassVar[str] = "derived here, theory/hadamard#factors"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        finding = OfFactors().holds(experiment)
        if finding.holds and len(experiment.problem.matrix.structure().sign_factors) == 1:
            return Finding(False, "for a single factor with independent signs, ri-signed is stronger")
        return (only_square(experiment) or finding) if finding.holds else finding

    def value(self, at: At) -> Floats:
        unseen: Floats = np.maximum(0, 1 - (at.k + 1) / at.labels.n)
        return unseen
