"""A lower bound on the loss of rotation-invariant learners on orthogonal rows with random signs."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    LineStructure,
    RotationInvariant,
    fair_signs,
    loss_constant,
    signed_orthogonal,
    times_constant,
)


class RISigned(RotationInvariant, frozen=True, tag="ri-signed"):
    """c(1 − k/d): no rotation-invariant learner does better on Hadamard rows with random signs.

    The bound holds for every loss, in expectation over the signs and any randomness of the labels. The
    constant c is the least mean loss on a label ±1 from a fair coin. c is 1 for square, hinge and exponential
    loss, and ln 2 for logistic loss. The labels of unseen rows are fair coins, and orthogonal rows contain no
    information about each other. If a target combines several features, its labels do not all have size 1.
    For such targets, the bound holds for square loss, in expectation over the order too. Source: WKA21 Thm 3.
    """

    title: ClassVar[str] = "rotation-invariant bound"
    formula: ClassVar[str] = "c(1 − k/d)"
    source: ClassVar[str] = "WKA21 Thm 3"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        if other := signed_orthogonal(experiment):
            return other
        return fair_signs(
            experiment, "orthogonal rows with random signs: the label of an unseen row is a fair coin"
        )

    def formula_in(self, experiment: Setup) -> str:
        return times_constant("(1 − k/d)", experiment)

    def value(self, at: At) -> Floats:
        unseen: Floats = 1 - at.k / at.labels.n
        return loss_constant(at.experiment) * unseen
