"""A lower bound on the loss of a linear neuron, from the singular values of the labels of all targets."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, ByVerdict, Floats, LineStructure, several_targets, stays_in_span


class SVD(ByVerdict, frozen=True, tag="svd"):
    """(1/nm) Σ_{i>k} s_i(Y)²: lower bound on the mean loss over m targets, for a linear neuron started at 0.

    After k examples, the m weight vectors lie in the span of k instances. So the predictions for all targets
    form a matrix of rank at most k. The labels Y are a matrix of n rows and m targets, with singular values
    s_i(Y). The bound is the squared distance of Y from the nearest matrix of rank k, divided by nm. The bound
    holds for the given labels, not only in expectation, on any matrix and for any feature map. With all d
    Hadamard features as targets, the bound is 1 − k/d. Source: WV05; WKA21 Thm 9.
    """

    title: ClassVar[str] = "singular-value bound"
    formula: ClassVar[str] = "(1/nm) Σ_{i>k} s_i(Y)²"
    source: ClassVar[str] = "WV05; WKA21 Thm 9"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return several_targets(experiment)

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        return stays_in_span(learner, experiment, judged, any_start=False)

    def value(self, at: At) -> Floats:
        return at.labels.rank_bound(at.k)
