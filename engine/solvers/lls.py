"""Linear least squares."""

from __future__ import annotations

from typing import ClassVar

from engine.hypothesis import Hypothesis
from engine.lazy import torch
from engine.parts import Verdict
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, one_by_one

DEPENDENT = 1e-9
"""A new instance adds no rank if the share of its length outside the span of the old ones is below this."""


class LLS(Solver, frozen=True, tag="lls"):
    """Minimum-norm least squares: w = X⁺y over the examples so far, by O(d²) work per example.

    Greville's recursion in float64 on the projector P onto the span of the instances and M = (XᵀX)⁺. A new
    instance x has the part c = x − P x outside the span. If c ≠ 0 then w ← w + c (y − xᵀw)/‖c‖²; otherwise
    w ← w + M x (y − xᵀw)/(1 + xᵀM x). Source: Greville 1960; theory.md §4.
    """

    linear_in_labels: ClassVar[bool] = True

    def begin(self, data: Data) -> Hypothesis:
        return Fit(data)

    def size(self, n: int, d: int) -> int:
        return 2 * d * d

    def invariance(self) -> Verdict:
        return Verdict(True, "the minimum-norm solution is a combination of the instances by inner products")


class Fit:
    """The least-squares solution to the examples it has been told, for every replica and target."""

    def __init__(self, data: Data) -> None:
        rows = data.instances.rows
        shape = (data.replicas, data.instances.d, data.instances.d)
        self._projector = torch.zeros(shape, dtype=torch.float64, device=rows.device)
        self._inverse = torch.zeros_like(self._projector)
        self._w = torch.zeros(
            (data.replicas, data.targets, shape[-1]), dtype=torch.float64, device=rows.device
        )
        self._dtype = rows.dtype

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Take in examples one after the other: instances [R, n, d] and their labels [B, n]."""
        for x, y in one_by_one(instances, labels):
            self._add(x, y)

    def _add(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Take in one example: an instance x [R, d, 1] and its labels y [R, m, 1]."""
        outside = x - self._projector @ x
        outside = outside - self._projector @ outside  # twice is enough to be orthogonal
        length = outside.square().sum(1, keepdim=True)
        new = length > DEPENDENT**2 * x.square().sum(1, keepdim=True)
        image = self._inverse @ x
        stretch = 1 + (x * image).sum(1, keepdim=True)

        along = outside / torch.where(new, length, 1.0)
        gain = torch.where(new, along, image / stretch)  # [R, d, 1]
        error = y - self._w @ x  # [R, m, 1]
        self._w.baddbmm_(error, gain.mT)

        # The change of M is a bᵀ + b aᵀ in either case.
        a = torch.where(new, along, image)
        b = torch.where(new, stretch / 2 * along - image, image / (-2 * stretch))
        self._inverse.baddbmm_(torch.cat((a, b), 2), torch.cat((b, a), 2).mT)
        self._projector.baddbmm_(torch.where(new, outside, 0.0), along.mT)

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.inner(self.weights()[:, None])[:, 0]

    def weights(self) -> torch.Tensor:
        """The solution [B, d], a copy that later examples leave as it is."""
        return self._w.to(self._dtype, copy=True).flatten(0, 1)
