"""The lower bound for rotation-invariant learners on features 0 and 1."""

from __future__ import annotations

from typing import ClassVar, Literal

from engine.core.parts import Finding
from engine.problems.matrices.hadamard01 import Hadamard01
from engine.spec.setup import Setup
from engine.theory import Floats, Labels, RotationInvariant, loss_of


class RI01(RotationInvariant, frozen=True, tag="ri-01"):
    """¼(1 − k/(d−1)): no rotation-invariant learner does better on the Hadamard problem shifted to 0 and 1.

    In expectation over the signs s, and over noise if there is any, for square loss; for entropic loss ln 2
    stands in place of ¼. Without the constant row all inner products of instances are the same for all signs,
    ½d of a row with itself and ¼d of two rows, so the d − 1 − k unseen labels are fair coins, in any order.
    Least squares has ¼(1 − k/(d−1))(k+2)/(k+1). Source: WKA21 Thm 4.
    """

    sense: ClassVar[Literal["lower", "upper", "conjecture"]] = "lower"
    formula: ClassVar[str] = "¼(1 − k/(d−1))"
    source: ClassVar[str] = "WKA21 Thm 4"

    def on(self, experiment: Setup) -> Finding:
        matrix, target = experiment.problem.matrix, experiment.problem.target
        if not isinstance(matrix, Hadamard01):
            return Finding(False, f"it is about shifted Hadamard rows, and the matrix is {matrix.kind}")
        if matrix.repeat is not None:
            return Finding(False, "it is about rows that are seen once, and here they are repeated")
        if not matrix.row_signs:
            return Finding(False, "it needs random row signs, and row_signs is off")
        if target.values(matrix) != "bits":
            return Finding(False, f"its labels are features, 0 and 1, and the target is {target.kind}")
        if loss_of(experiment).bit_constant is None:
            return Finding(False, f"labels are 0 and 1, and {experiment.protocol.loss} loss needs signs")
        return Finding(True, "inner products tell no signs: the label of an unseen row is a fair bit")

    def curve(self, experiment: Setup, labels: Labels, k: Floats) -> Floats:
        constant = loss_of(experiment).bit_constant
        assert constant is not None, "on() admits no other loss"
        unseen: Floats = 1 - k / labels.n
        return constant * unseen
