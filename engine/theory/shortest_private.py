"""The loss on unseen rows of the minimum-norm fit to rows with private entries."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, ByVerdict, Floats, LineStructure, only_square, stays_in_span
from engine.theory.all_positive import OfUnseen


class ShortestPrivate(OfUnseen, ByVerdict, frozen=True, tag="shortest-private"):
    """The loss on unseen rows if w is the shortest fit to n₊ seen rows with label +1 and n₋ with label −1.

    The rows are those of the matrix `wilson`. A row with label +1 has one private entry 1, and a row with
    label −1 has m private entries 1. Private entries are 0 in all other rows. The shortest fit is w = Xᵀα.
    Its coefficients are α₊ = (4n₋ + m)/D for label +1, and α₋ = −(4n₊ + 1)/D for label −1. Here D = 8n₊n₋ +
    3m n₊ + 3n₋ + m. The prediction for an unseen row is 3n₊α₊ + n₋α₋ if its label is +1, and n₊α₊ + 3n₋α₋ if
    its label is −1. Once both classes have been seen, these predictions have the right signs, so no unseen
    row is misclassified. Weights that start at 0 and stay in the span of the rows seen converge to w if
    training fits these rows. Source: after Wilson, Roelofs, Stern, Srebro, Recht 2017;
    theory/automatic-descent#adaptive-fail.
    """

    title: ClassVar[str] = "loss of the shortest fit"
    measure: ClassVar[str] = "unseen"
    formula: ClassVar[str] = "mean of (xᵀw − y)² for the shortest w that fits the seen rows"
    source: ClassVar[str] = "after WRSSR17"

    def structure(self) -> LineStructure:
        return super().structure()._replace(direction="asymptotic", limit="for many steps")

    def holds(self, experiment: Setup) -> Finding:
        return only_square(experiment) or super().holds(experiment)

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        if learner.solver is not None and learner.solver.kind != "lls":
            return Finding(
                False,
                f"the line requires weights that fit the seen rows, and the weights of {learner.name} do not",
            )
        net = learner.architecture
        if learner.decay is not None or (net is not None and net.layout(experiment.d).l2_penalty):
            return Finding(
                False,
                f"the line requires weights that fit the seen rows, and {learner.name} shrinks its weights",
            )
        return stays_in_span(learner, experiment, judged, any_start=False)

    def value(self, at: At) -> Floats:
        private = at.experiment.problem.matrix.structure().private_entries
        seen, unseen = self.labels(at)
        plus, minus = (seen > 0).sum(1, keepdims=True), (seen < 0).sum(1, keepdims=True)
        scale = 8 * plus * minus + 3 * private * plus + 3 * minus + private
        of_plus, of_minus = (4 * minus + private) / scale, -(4 * plus + 1) / scale
        on_plus, on_minus = 3 * plus * of_plus + minus * of_minus, plus * of_plus + 3 * minus * of_minus
        share = (unseen > 0).mean(1, keepdims=True)
        loss: Floats = share * (on_plus - 1) ** 2 + (1 - share) * (on_minus + 1) ** 2
        return loss
