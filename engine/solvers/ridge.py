"""Ridge regression."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, one_by_one


class Ridge(Solver, frozen=True, tag="ridge"):
    """Ridge regression: w minimises Σ_j (x_jᵀw − y_j)² + λ‖w‖² over the examples so far.

    The sum over examples, not their mean, is weighed against λ = `lam`. Recursive least squares in float64,
    O(d²) work per example, on a square root S of P = (XᵀX + λI)⁻¹ = S Sᵀ, from S = I/√λ: with φ = Sᵀx and
    s = 1 + ‖φ‖², w ← w + S φ (y − xᵀw)/s and S ← S − S φ φᵀ/(s + √s). As λ → 0 it becomes `lls`.
    Source: Hoerl, Kennard 1970; Potter 1963 for the square root; theory.md §4.
    """

    linear_in_labels: ClassVar[bool] = True

    lam: Annotated[float, Meta(ge=1e-12, title="penalty λ", description="for λ = 0 there is lls")] = 1.0

    def begin(self, data: Data) -> Hypothesis:
        return Fit(data, self.lam)

    def size(self, n: int, d: int) -> int:
        return d * d

    def invariance(self) -> Verdict:
        return Verdict(True, "the solution is a combination of the instances by their inner products")


class Recursion:
    """The ridge solution w and the root S of P, for every replica, kept up to date example by example."""

    def __init__(self, data: Data, lam: float) -> None:
        rows, d = data.instances.rows, data.instances.d
        root = torch.eye(d, dtype=torch.float64, device=rows.device) / lam**0.5
        self._root = root.repeat(data.replicas, 1, 1)
        self._w = root.new_zeros(data.replicas, len(data.labels) // data.replicas, d)
        self._dtype = rows.dtype

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Take in examples one after the other: instances [R, n, d] and their labels [B, n]."""
        for x, y in one_by_one(instances, labels):
            phi = self._root.mT @ x
            stretch = 1 + phi.square().sum(1, keepdim=True)
            image = self._root @ phi  # P x, [R, d, 1]
            self._w.baddbmm_(y - self._w @ x, (image / stretch).mT)
            self._shrink(image, phi / (stretch + stretch.sqrt()))

    def _shrink(self, image: torch.Tensor, along: torch.Tensor) -> None:
        """Subtract image · alongᵀ, [R, d, 1] each, from the root."""
        self._root.baddbmm_(image, along.mT, alpha=-1)

    def solution(self) -> torch.Tensor:
        """The ridge solution [B, d], a copy that later examples leave as it is."""
        w: torch.Tensor = self._w.to(self._dtype, copy=True)
        return w.flatten(0, 1)


class Fit(Recursion):
    """The ridge solution as a hypothesis."""

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        return instances.products(self.solution())

    def weights(self) -> torch.Tensor:
        """The solution [B, d]."""
        return self.solution()
