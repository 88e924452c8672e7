"""The lower bound by singular values of the targets."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from engine.bounds import Bound, Floats, Labels
from engine.experiment import Experiment, Learner
from engine.invariance import verdict
from engine.parts import Finding


class SVD(Bound, frozen=True, tag="svd"):
    """(1/nm) Σ_{i>k} s_i(Y)²: one linear neuron started at 0, averaged over m targets, on any matrix.

    After k examples the m weight vectors lie in the span of k instances, so their predictions are a matrix of
    rank k, and no rank-k matrix is closer to the labels Y. It holds for these very labels, not only in
    expectation, and for any feature map; all d Hadamard targets give 1 − k/d. Source: WV05; WKA21 Thm 9.
    """

    sense: ClassVar[Literal["lower", "upper", "conjecture"]] = "lower"
    formula: ClassVar[str] = "(1/nm) Σ_{i>k} s_i(Y)²"
    source: ClassVar[str] = "WV05; WKA21 Thm 9"

    def on(self, experiment: Experiment) -> Finding:
        targets = experiment.problem.target.columns(experiment.problem.matrix)
        if targets < 2:
            return Finding(False, "it averages over several targets, and there is one")
        if experiment.protocol.loss != "square":
            return Finding(False, f"it is about square loss, and the loss is {experiment.protocol.loss}")
        return Finding(True, f"the loss is averaged over {targets} targets")

    def binds(self, learner: Learner, experiment: Experiment) -> Finding:
        if learner.solver is None and learner.architecture is not None:
            kind = learner.architecture.kind
            if kind != "linear":
                return Finding(False, f"it is about a single linear neuron, and {learner.name} is {kind}")
        invariant, reason = verdict(learner, experiment)
        if invariant is not True:
            return Finding(False, f"the weights of {learner.name} leave the span of the instances: {reason}")
        return Finding(True, f"the weights of {learner.name} stay in the span of the k instances it has seen")

    def curve(self, experiment: Experiment, labels: Labels, k: Floats) -> Floats:
        squares = np.square(np.linalg.svd(labels.astype(np.float64), compute_uv=False))  # [R, min(m, n)]
        tails = np.zeros((len(squares), labels.shape[-1] + 1))
        tails[:, : squares.shape[1]] = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
        bound: Floats = tails.mean(0)[k.astype(int)] / (labels.shape[-1] * labels.shape[-2])
        return bound
