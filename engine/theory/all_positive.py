"""The error of the constant prediction +1 on the rows that a learner never sees."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure


class OfUnseen(Line, frozen=True):
    """Base class of theory lines about the rows never seen, for matrices of rows with private entries.

    The private entries of a row are 0 in all other rows. The lines hold for every draw of the labels.
    """

    def structure(self) -> LineStructure:
        return LineStructure(per_replica=True)

    def holds(self, experiment: Setup) -> Finding:
        problem, protocol = experiment.problem, experiment.protocol
        if not problem.matrix.structure().private_entries:
            other = problem.matrix.kind
            return Finding(
                False,
                f"requires private entries, which are 0 in all other rows, and the matrix is {other}",
            )
        if problem.label_values != "signs":
            return Finding(False, f"requires labels ±1, and here they are {problem.label_values}")
        n, _ = problem.matrix.shape()
        if not protocol.schedule().full_batch or protocol.extent(n).most_examples >= n:
            return Finding(
                False,
                f"requires that each step uses all training rows, and that other rows remain: "
                f"set `train` below {n}",
            )
        return Finding(True, "every row has entries that are 0 in all other rows")

    def labels(self, at: At) -> tuple[Floats, Floats]:
        """Return the labels of the rows seen [R, seen], and of the rows never seen [R, unseen]."""
        n = at.experiment.n
        seen = at.experiment.protocol.extent(n).most_examples
        data = at.drawn.data
        labels: Floats = data.labels.view(data.replicas, -1).double().cpu().numpy()
        return labels[:, :seen], labels[:, seen:]


class AllPositive(OfUnseen, frozen=True, tag="all-positive"):
    """The share of labels −1 among the rows never seen: the error of predicting +1 for all these rows.

    Let X and y be the rows seen and their labels. On the matrix `wilson` with the default `private` = 5, X
    sign(Xᵀy) = 4y if most labels seen are +1. Then the weights of AdaGrad, RMSProp, Adam (ε = 0) and sign
    descent, which start at 0, move only along τ = sign(Xᵀy), and end at τ/4. For these weights, the
    prediction for an unseen row with the label ±1 is (±1 + 2)/4 > 0, so its class is +1. Source: Wilson,
    Roelofs, Stern, Srebro, Recht 2017; theory/automatic-descent#adaptive-fail.
    """

    title: ClassVar[str] = "error of always +1"
    measure: ClassVar[str] = "test-error"
    formula: ClassVar[str] = "share of labels −1 among rows never seen"
    source: ClassVar[str] = "after WRSSR17"

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        name, net = learner.name, learner.architecture
        is_neuron = (
            net is not None
            and net.structure_at(experiment.d).linear_layers == 1
            and net.structure().starts_at_zero
        )
        if learner.update is None or not is_neuron:
            return Finding(
                False, f"the line is about linear neurons trained from weights 0, and {name} is not one"
            )
        return Finding(True, f"{name} can be compared with the constant prediction +1 on unseen rows")

    def value(self, at: At) -> Floats:
        _, unseen = self.labels(at)
        negative_share: Floats = (unseen < 0).mean(1, keepdims=True)
        return negative_share
