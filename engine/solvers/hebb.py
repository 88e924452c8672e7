"""Hebb's rule."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure, one_by_one


class Hebb(Solver, frozen=True, tag="hebb"):
    """Hebb's rule: w = (1/k) Σ_j y_j x_j, the mean of label times instance over the k examples so far.

    The sum without 1/k has the same direction, and so the same 0/1 error. w tends to w* if labels are xᵀw*,
    and the second moment E xxᵀ of the instances is I. The work per example is O(d), in float64. Source: Hebb
    1949; theory/symmetry#half-spaces.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(linear_in_labels=True)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        targets = len(data.labels) // data.replicas
        return Mean(data.labels.new_zeros(data.replicas, targets, data.instances.d))

    def size(self, n: int, d: int) -> int:
        return d

    def invariance(self) -> Verdict:
        return Verdict(True, "w is a linear combination of the instances, whose coefficients are the labels")


class Mean:
    """Hypothesis whose weights are the mean of label times instance over the examples seen."""

    def __init__(self, start: torch.Tensor) -> None:
        self._count, self._sum, self._dtype = 0, start.double(), start.dtype

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        for x, y in one_by_one(instances, labels):
            self._sum.baddbmm_(y, x.mT)
            self._count += 1

    def predict(self, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        return (self._sum / max(self._count, 1)).to(self._dtype).flatten(0, 1)
