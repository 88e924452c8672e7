"""A lower bound on the loss of learners that are linear in the labels, for products of several factors."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.symmetry.verdict import linear_in_labels
from engine.theory import At, Floats, LineStructure, only_square
from engine.theory.percolation import OfFactors


class OuterLinear(OfFactors, frozen=True, tag="outer-linear"):
    """1 − k/D, D = d₁⋯d_r: lower bound on the square loss of learners that are linear in the labels.

    An instance is a product of r factors. Factor l is one of d_l orthogonal rows with d_l entries and random
    signs. The bound applies to learners with predictions a₀ + Σ_j a_j y_j that do not change if single
    factors are rotated. Gradient descent on a weight matrix that starts at 0 attains the bound. Derived here;
    no earlier statement is known to us. Source: theory/hadamard#factors.

    Proof: by the invariance, we may choose coordinates in which the d_l possible rows of factor l are √d_l
    e_i. A label is the product of the random signs of the instance's r rows. In these coordinates, the
    coefficients a_j do not depend on the signs. So the coefficients are independent of the labels, which are
    pairwise independent with mean 0. An unseen label is uncorrelated with a₀ + Σ_j a_j y_j.
    """

    title: ClassVar[str] = "linear bound on products"
    formula: ClassVar[str] = "1 − k/(d₁⋯d_r)"
    source: ClassVar[str] = "derived here, theory/hadamard#factors"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        finding = super().holds(experiment)
        return (only_square(experiment) or finding) if finding.holds else finding

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        linear = linear_in_labels(learner, experiment)
        return super().binds_by_verdict(learner, experiment, judged) if linear.holds else linear

    def value(self, at: At) -> Floats:
        unseen: Floats = 1 - at.k / at.labels.n
        return unseen
