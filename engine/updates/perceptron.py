"""The Perceptron."""

from __future__ import annotations

from engine.architectures import Architecture
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Plain, Rate, UpdateStructure


class Perceptron(Plain, frozen=True, tag="perceptron"):
    """The Perceptron: w ← w + η y x after a mistake (y xᵀw ≤ 0), and no change otherwise, from w = 0.

    An update rule receives gradients, but neither labels nor predictions. Only the loss `mistake` has the
    required gradient: −y x after a mistake, and 0 otherwise. No other loss is allowed. The rate η only scales
    all weights, so it does not change the sign of any prediction. Source: Rosenblatt 1958;
    theory/conventions#update-rules.
    """

    lr: Rate = 1.0

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(along_gradients=True, only_after_mistakes=True)

    def refuses(self, architecture: Architecture) -> str | None:
        if architecture.structure().trains_weights:
            return None
        return f"perceptron trains only the linear neuron; for {architecture.kind}, take `gd` on mistake loss"

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "the weights are a sum of misclassified instances, times their labels")
