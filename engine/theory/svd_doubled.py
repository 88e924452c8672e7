"""A lower bound on the loss of one linear neuron with any starting weights, from singular values."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, ByVerdict, Floats, LineStructure, several_targets, stays_in_span


class SVDDoubled(ByVerdict, frozen=True, tag="svd-doubled"):
    """1 − (k+1)/d: lower bound for a linear neuron from any start, on the mean loss over all targets.

    The targets are all columns of the instance matrix, and their negatives. After k examples, the weight
    vectors of all targets lie in the span of k instances and the start that all targets share. So the
    predictions for all targets have rank k + 1. Let s_i(Y) be the singular values of the labels Y of n rows
    and m targets. On any matrix and with any feature map, the loss is at least (1/nm) Σ_{i>k+1} s_i(Y)². For
    Hadamard rows and labels without noise, even the stronger bound 1 − k/d holds, but the line does not use
    it. A start that helps one target harms the negative of this target at least as much. Source: WKA21 Thm
    10.
    """

    title: ClassVar[str] = "bound from any start"
    formula: ClassVar[str] = "(1/nm) Σ_{i>k+1} s_i(Y)², singular values s_i of labels Y"
    source: ClassVar[str] = "WKA21 Thm 10"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        target = experiment.problem.target
        if not target.structure(experiment.problem.matrix).with_negatives:
            return Finding(False, f"requires all features and their negatives as targets, not {target.kind}")
        return several_targets(experiment)

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        return stays_in_span(learner, experiment, judged, any_start=True)

    def value(self, at: At) -> Floats:
        return at.labels.rank_bound(at.k + 1)
