"""Bound on the rank of the weights of two linear layers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.core.parts import Finding
from engine.learners.learner import Learner
from engine.spec.experiment import Setup
from engine.theory import At, Floats, Line, LineStructure, largest_rank, more_than_one_target
from engine.theory.svd_two_layer import SVDTwoLayer


class RankTwoLayer(Line, frozen=True, tag="rank-two-layer"):
    """2k + 1: the largest rank of the weights of all targets, for a net of two linear layers.

    A net with the layers W₁ and w₂ predicts xᵀW₁ᵀw₂. The matrix of weights has one column W₁ᵀw₂ per target.
    Let A = W₁(0)ᵀW₁(0). After k examples, every column is in the span of 2k + 1 vectors: the k instances x_t,
    the k vectors A x_t, and the start W₁(0)ᵀw₂(0). Source: WKA21 Thm 12; theory/hadamard#all-targets.
    """

    title: ClassVar[str] = "two-layer rank bound"
    measure: ClassVar[str] = "rank"
    formula: ClassVar[str] = "2k + 1"
    source: ClassVar[str] = "WKA21 Thm 12"

    def structure(self) -> LineStructure:
        return LineStructure(direction="upper", in_expectation=False, needs_k_rows=False)

    def holds(self, experiment: Setup) -> Finding:
        return more_than_one_target(experiment)

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return SVDTwoLayer().binds(learner, experiment)

    def value(self, at: At) -> Floats:
        return np.minimum(2 * at.k + 1, largest_rank(at.experiment))
