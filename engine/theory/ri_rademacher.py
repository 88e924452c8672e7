"""The conjectured lower bound for rotation-invariant learners on random signs."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.spec.setup import Setup
from engine.theory import At, Direction, Floats, RotationInvariant, linear_labels, product_curve, shown_once


class RIRademacher(RotationInvariant, frozen=True, tag="ri-rademacher"):
    """(1 − k/n)(1 − k/d) on random ±1 instances: a conjecture, seen in experiments and not proved.

    The curve of `ri-gaussian`, (1 − k/d)² for n = d, in expectation over the instances, for square loss.
    Source: WKA21 §6.
    """

    direction: ClassVar[Direction] = "conjecture"
    formula: ClassVar[str] = "(1 − k/n)(1 − k/d)"
    source: ClassVar[str] = "WKA21 §6"

    def holds(self, experiment: Setup) -> Finding:
        matrix = experiment.problem.matrix
        if repeated := shown_once(experiment):
            return repeated
        if not matrix.independent_signs:
            return Finding(False, f"requires random ±1 instances, and the matrix is {matrix.kind}")
        return linear_labels(experiment) or Finding(
            True, "random signs behave like Gaussian instances in experiments"
        )

    def value(self, at: At) -> Floats:
        return product_curve(at)
