"""The lower bound for a linear neuron started at 0, by the singular values of the labels of all targets."""

from __future__ import annotations

from typing import ClassVar

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, several_targets, stays_in_span


class SVD(Line, frozen=True, tag="svd"):
    """(1/nm) Σ_{i>k} s_i(Y)²: least loss of one linear neuron started at 0, over m targets, on any matrix.

    After k examples, the m weight vectors lie in the span of k instances. So their predictions are a matrix
    of rank k, and no rank-k matrix is closer to the labels Y. The bound holds for the given labels, not only
    in expectation, and for any feature map. All d Hadamard targets give 1 − k/d. Source: WV05; WKA21 Thm 9.
    """

    title: ClassVar[str] = "singular-value bound"
    formula: ClassVar[str] = "(1/nm) Σ_{i>k} s_i(Y)²"
    source: ClassVar[str] = "WV05; WKA21 Thm 9"

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return several_targets(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return stays_in_span(learner, experiment, any_start=False)

    def value(self, at: At) -> Floats:
        return at.labels.rank_bound(at.k)
