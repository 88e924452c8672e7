"""A lower bound on the loss of learners that are linear in the labels, on instances of random signs."""

from __future__ import annotations

from typing import ClassVar

from engine.core.groups import SIGNED_PERMUTATIONS, TRIVIAL, Group
from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.symmetry.verdict import linear_in_labels
from engine.theory import (
    At,
    ByVerdict,
    Floats,
    LineStructure,
    about_one_target,
    bound_by_turning,
    linear_labels,
    product_curve,
    product_formula,
    shares_layers,
    shown_once,
)


class RIRademacher(ByVerdict, frozen=True, tag="ri-rademacher"):
    """(1 − k/n)(1 − k/d) on random ±1 instances: no learner that is linear in the labels does better.

    The curve is the same as that of `ri-gaussian`: (1 − k/d)² for n = d. The bound holds in expectation over
    the instances, for square loss and ‖w*‖ = 1. The bound applies to learners with predictions a₀ + Σ_j a_j
    y_j. The coefficients a_j depend only on the instances and on random choices of the learner. Permutations
    and sign flips of the features must not change the coefficients. Other learners can go below the bound. A
    conjecture said that rotation-invariant learners cannot, but `tanh-lls` refutes it. Derived here; no
    earlier statement is known to us. Source: theory/hadamard#random-signs; the curve is that of WKA21 §6.

    Proof: flipping the sign of feature i in all instances changes no coefficient, but changes the sign of x_i
    − Σ_j a_j x_ji. So this difference is uncorrelated with a₀ and with the difference for any other feature.
    By permutations, every feature has the same error on an unseen row: (1/d) E‖x − Σ_j a_j x_j‖² ≥ (1/d) E
    dist²(x, span of the rows seen) ≥ 1 − k/d.
    """

    title: ClassVar[str] = "linear-in-labels bound"
    formula: ClassVar[str] = "(1 − k/n)(1 − k/d)"
    source: ClassVar[str] = "derived here, for predictions linear in the labels; the curve is in WKA21 §6"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", group=SIGNED_PERMUTATIONS, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        if repeated := shown_once(experiment):
            return repeated
        if not matrix.structure().independent_signs:
            return Finding(False, f"requires random ±1 instances, and the matrix is {matrix.kind}")
        return linear_labels(experiment) or Finding(
            True, "random signs prefer no feature, and a new row is orthogonal to old ones on average"
        )

    def group_in(self, experiment: Setup) -> Group | None:
        return TRIVIAL if experiment.problem.matrix.structure().is_turned else self.structure().group

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        if shares_layers(learner):
            return Finding(False, about_one_target(learner))
        linear = linear_in_labels(learner, experiment)
        if not linear.holds:
            return linear
        if not judged.group >= SIGNED_PERMUTATIONS and experiment.problem.matrix.structure().is_turned:
            return bound_by_turning(learner, "may treat features or signs differently")
        if not judged.group >= SIGNED_PERMUTATIONS:
            return Finding(False, f"{learner.name} may treat features or signs differently: {judged.reason}")
        return Finding(True, f"{linear.reason}, and {judged.reason}")

    def formula_in(self, experiment: Setup) -> str:
        return product_formula(experiment)

    def value(self, at: At) -> Floats:
        return product_curve(at)
