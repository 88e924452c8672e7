"""The loss of two linear layers, with a start and a feature map constructed for the order of the rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, at_rate_lr, several_targets

RATE = 0.5
"""Learning rate at which one step of gradient descent fits an example whose feature vector has length 1."""


class TwoLayerGap(Line, frozen=True, tag="two-layer-gap"):
    """1 − max(k, 2(k−1))/d: loss of two constructed linear layers after k ≤ d/2 + 1 of d Hadamard rows.

    The start of the layers and the feature map φ are constructed for the order of the rows. The theory line
    is the limit of the loss of the architecture `two-layer-decoder`. In the limit, the fields `eps` and `mu`
    of this architecture go to 0, and the field `gain` goes to ∞. The loss is the same for each of the
    targets, the columns of [H, −H] for the Hadamard matrix H. The predictions have rank 2(k − 1), and
    `svd-two-layer` allows 2k + 1. So the bound `svd-two-layer` is tight up to 3/d. A conjecture said that the
    loss is at least 1 − (k+1)/d for every start and every φ. From k = 4 on, the line is below this value,
    which refutes the conjecture. For usual starts, and for φ independent of the order of the rows, the
    question is open. Derived here; no earlier statement is known to us. Source: theory/hadamard#two-layers.
    """

    title: ClassVar[str] = "limit of the decoder"
    formula: ClassVar[str] = "1 − max(k, 2(k−1))/d, k ≤ d/2 + 1"
    source: ClassVar[str] = "derived here, theory/hadamard#two-layers"

    def structure(self) -> LineStructure:
        return LineStructure(direction="asymptotic", limit="as ε, μ, 1/L → 0", in_expectation=False)

    def holds(self, experiment: Setup) -> Finding:
        matrix, protocol = experiment.problem.matrix, experiment.protocol
        if not matrix.structure().in_halves:
            return Finding(
                False, f"requires the rows of the matrix `ordered-hadamard`, and the matrix is {matrix.kind}"
            )
        n, d = matrix.shape()
        if not protocol.schedule().online or protocol.extent(n).last > d / 2 + 1:
            return Finding(False, "requires one pass over at most the first d/2 + 1 rows, example by example")
        finding = several_targets(experiment)
        if finding.holds and experiment.problem.label_values != "signs":
            return Finding(False, "requires features as targets, and these targets are not features")
        return finding

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        architecture, update = learner.architecture, learner.update
        if architecture is None or architecture.kind != "two-layer-decoder":
            return Finding(
                False,
                "this theory line is the loss of the architecture `two-layer-decoder`, "
                f"not of {learner.name}",
            )
        if update is None or not update.structure().plain or learner.rate_choice != RATE:
            return Finding(
                False, f"the line requires plain gradient descent at rate ½, not that of {learner.name}"
            )
        return at_rate_lr(learner, experiment) or Finding(
            True,
            f"the start and the feature map of {learner.name} are constructed for the order of these rows",
        )

    def value(self, at: At) -> Floats:
        loss: Floats = 1 - np.maximum(at.k, 2 * (at.k - 1)) / at.labels.n
        return np.maximum(0, loss)
