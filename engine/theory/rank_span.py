"""Bound on the rank of weights that stay in the span of the instances seen."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding, Verdict
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import (
    At,
    ByVerdict,
    Floats,
    LineStructure,
    largest_rank,
    more_than_one_target,
    stays_in_span,
)


class RankSpan(ByVerdict, frozen=True, tag="rank-span"):
    """k: the largest rank of the weights of all targets, for a linear neuron that starts at 0.

    The weights of all targets form a matrix with one column per target. After k examples, every weight vector
    is in the span of k instances, on any matrix, for any loss and any labels. Source: WKA21 Thm 9;
    theory/hadamard#all-targets.
    """

    title: ClassVar[str] = "span bound"
    measure: ClassVar[str] = "rank"
    formula: ClassVar[str] = "k"
    source: ClassVar[str] = "WKA21 Thm 9"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return more_than_one_target(experiment)

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        return stays_in_span(learner, experiment, judged, any_start=False)

    def value(self, at: At) -> Floats:
        return np.minimum(at.k, largest_rank(at.experiment))
