"""The lower bound for rotation-invariant learners on Gaussian instances."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.spec.setup import Setup
from engine.theory import (
    At,
    Direction,
    Floats,
    RotationInvariant,
    linear_labels,
    product_curve,
    product_formula,
    shown_once,
)


class RIGaussian(RotationInvariant, frozen=True, tag="ri-gaussian"):
    """(1 − k/n)(1 − k/d): no rotation-invariant learner does better on Gaussian instances.

    In expectation over the instances, for a target with ‖w*‖ = 1 and square loss; least squares attains it.
    An unseen row costs 1 − k/d and a share 1 − k/n of the n rows is unseen: (1 − k/d)² for n = d. With label
    noise it still holds, and `noise` is a stronger bound. Source: WKA21 Thms 6–7.
    """

    title: ClassVar[str] = "bound on Gaussian rows"
    direction: ClassVar[Direction] = "lower"
    formula: ClassVar[str] = "(1 − k/n)(1 − k/d)"
    source: ClassVar[str] = "WKA21 Thms 6–7"

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        if repeated := shown_once(experiment):
            return repeated
        if not matrix.isotropic:
            return Finding(False, f"requires Gaussian instances, and the matrix is {matrix.kind}")
        return linear_labels(experiment) or Finding(True, "Gaussian instances have no preferred direction")

    def formula_in(self, experiment: Setup) -> str:
        return product_formula(experiment)

    def value(self, at: At) -> Floats:
        return product_curve(at)
