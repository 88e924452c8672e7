"""A lower bound on the loss of rotation-invariant learners on instances without a preferred direction."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    LineStructure,
    RotationInvariant,
    linear_labels,
    product_curve,
    product_formula,
    without_direction,
)


class RIGaussian(RotationInvariant, frozen=True, tag="ri-gaussian"):
    """(1 − k/n)(1 − k/d): no rotation-invariant learner does better on Gaussian rows, or points of a sphere.

    The bound holds in expectation over the instances, for a target with ‖w*‖ = 1 and square loss. Least
    squares attains the bound. The expected loss on an unseen row is at least 1 − k/d, and a share 1 − k/n of
    the n rows is unseen. For n = d, the bound is (1 − k/d)². With label noise, the bound still holds, and
    `noise` is a stronger bound. Source: WKA21 Thms 6–7.

    Proof: we use only independent rows with E xxᵀ = I and a rotation-invariant distribution. For an invariant
    learner, w* is effectively uniform on the sphere. Let v be the component of w* orthogonal to the k rows
    seen. Given these rows and their labels, v and −v are equally likely. So a prediction of xᵀw* for a new x
    costs at least E(xᵀv)² = E‖v‖² ≥ 1 − k/d.
    """

    title: ClassVar[str] = "bound on isotropic rows"
    formula: ClassVar[str] = "(1 − k/n)(1 − k/d)"
    source: ClassVar[str] = "WKA21 Thms 6–7"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        return (
            without_direction(experiment)
            or linear_labels(experiment)
            or Finding(True, "instances are independent of one another, and prefer no direction")
        )

    def formula_in(self, experiment: Setup) -> str:
        return product_formula(experiment)

    def value(self, at: At) -> Floats:
        return product_curve(at)
