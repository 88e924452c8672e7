"""The lower bound for every learner on labels that are fair coins."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    Floats,
    Line,
    LineStructure,
    knows_unseen_labels,
    loss_constant,
    times_constant,
)


class CoinLabels(Line, frozen=True, tag="coin-labels"):
    """c(1 − k/n): if all labels are fair coins, no learner can predict the labels of unseen rows.

    The bound holds in expectation over the labels, for every matrix and every order of the rows. Here c is
    the least mean loss on a label that is +1 or −1 with probability ½ each. c is 1 for square, hinge and
    exponential loss, and ln 2 for logistic loss. Given the instances and the labels seen, the label of an
    unseen row is also +1 or −1 with probability ½ each. So an unseen row costs at least c on average, and a
    seen row costs at least 0. After k examples, at least n − k rows are unseen. Source: WKA21 §3; for labels
    that are fair coins, the proofs there do not require invariance.
    """

    title: ClassVar[str] = "bound for coin labels"
    formula: ClassVar[str] = "c(1 − k/n)"
    source: ClassVar[str] = "after WKA21 §3"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        problem = experiment.problem
        if not problem.labels_are_coins:
            other = f"the target is {problem.target.kind}"
            return Finding(False, f"requires a fair coin as the label of every row, and {other}")
        if experiment.loss.constant is None:
            return Finding(False, f"requires a loss of labels ±1, and the loss is {experiment.protocol.loss}")
        return Finding(True, "every label is a fair coin, independent of the instances and of other labels")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return knows_unseen_labels(learner, experiment) or Finding(
            True, f"{learner.name} cannot know the labels of unseen rows, and no learner can"
        )

    def formula_in(self, experiment: Setup) -> str:
        return times_constant("(1 − k/n)", experiment)

    def value(self, at: At) -> Floats:
        unseen: Floats = 1 - at.k / at.labels.n
        return loss_constant(at.experiment) * unseen
