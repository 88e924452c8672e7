"""A lower bound on the loss of rotation-invariant learners on features 0 and 1."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.spec.experiment import Setup
from engine.theory import At, Floats, LineStructure, RotationInvariant, in_words, shown_once


class RI01(RotationInvariant, frozen=True, tag="ri-01"):
    """¼(1 − k/(d−1)): no rotation-invariant learner does better on the Hadamard problem shifted to 0 and 1.

    The bound holds in expectation over the random row signs and any noise, for square loss. For entropic
    loss, ¼ is replaced by ln 2. One row of the Hadamard matrix is constant. The proof considers the d − 1
    other rows. Their inner products do not depend on the row signs: ½d for a row with itself, and ¼d for two
    rows. So the d − 1 − k unseen labels are fair coins, for every order of the rows. Least squares has the
    loss ¼(1 − k/(d−1))(k+2)/(k+1). Source: WKA21 Thm 4.
    """

    title: ClassVar[str] = "bound on 0/1 rows"
    formula: ClassVar[str] = "¼(1 − k/(d−1))"
    source: ClassVar[str] = "WKA21 Thm 4"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="lower")

    def holds(self, experiment: Setup) -> Finding:
        matrix, target = experiment.problem.matrix, experiment.problem.target
        if repeated := shown_once(experiment):
            return repeated
        structure = matrix.structure()
        if not structure.is_shifted_hadamard:
            return Finding(False, f"requires shifted Hadamard rows, and the matrix is {matrix.kind}")
        if not structure.random_signs:
            return Finding(False, "requires random row signs, and `row_signs` is off")
        if not target.structure(matrix).are_features:
            return Finding(
                False,
                f"requires a feature with values 0 and 1 as the target, but the target is {target.kind}",
            )
        if experiment.loss.bit_constant is None:
            return Finding(
                False, f"requires a loss for labels 0 and 1, and {experiment.protocol.loss} loss needs signs"
            )
        return Finding(
            True, "inner products do not depend on the signs: the label of an unseen row is a fair bit"
        )

    def formula_in(self, experiment: Setup) -> str:
        return f"{in_words(_least_expected_loss(experiment))}(1 − k/(d−1))"

    def value(self, at: At) -> Floats:
        unseen: Floats = 1 - at.k / at.labels.n
        return _least_expected_loss(at.experiment) * unseen


def _least_expected_loss(setup: Setup) -> float:
    """Return the least expected loss on a label that is 0 or 1 with probability ½ each."""
    constant = setup.loss.bit_constant
    assert constant is not None, "holds() admits no other loss"
    return constant
