"""Bayes' rule over features."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.groups import PERMUTATIONS
from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure, one_by_one


class Bayes(Solver, frozen=True, tag="bayes"):
    """Bayes' rule: w_i is the posterior probability that labels are the signs of x_i, flipped with rate ε.

    Every feature has the prior 1/d. Under feature i, an example has the likelihood 1 − ε if its label agrees
    with the sign of x_i, and ε otherwise. So w_i ∝ (1 − ε)^(agreements) ε^(disagreements). For x = ±1, the
    prediction xᵀw is the posterior mean of the label before its flip. The work per example is O(d), in
    float64. Source: theory/conventions#update-rules.
    """

    flip: Annotated[
        float,
        Meta(gt=0, lt=0.5, title="flip rate ε", description="assumed probability that a label is wrong"),
    ] = 0.1

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="multiplicative", labels="signs", continuous=False)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        targets = len(data.labels) // data.replicas
        return FeaturePosterior(data.labels.new_zeros(data.replicas, targets, data.instances.d), self.flip)

    def size(self, n: int, d: int) -> int:
        return d

    def invariance(self) -> Verdict:
        return Verdict(
            False,
            "its hypotheses are single features, and rotations do not map features to features",
            PERMUTATIONS,
        )


class FeaturePosterior:
    """State of the solver: the posterior distribution over features, for every replica and target."""

    def __init__(self, agreements: torch.Tensor, flip: float) -> None:
        """Store the number of labels so far that agree with the sign of each feature, [R, m, d]."""
        self._agreements, self._dtype, self._flip = agreements.double(), agreements.dtype, flip

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        for x, y in one_by_one(instances, labels):
            self._agreements += (x.mT >= 0) == (y >= 0)

    def predict(self, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        behind = self._agreements.amax(-1, keepdim=True) - self._agreements
        shares = (self._flip / (1 - self._flip)) ** behind
        return (shares / shares.sum(-1, keepdim=True)).to(self._dtype).flatten(0, 1)
