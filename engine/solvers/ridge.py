"""Ridge regression."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure, in_blocks


class Ridge(Solver, frozen=True, tag="ridge"):
    """Ridge regression: w minimises Σ_j (x_jᵀw − y_j)² + λ‖w‖² over the examples so far.

    λ is the field `lam`. Losses are summed, not averaged. Recursive least squares solves the problem in
    float64, with O(d²) work per example. The matrix (XᵀX + λI)⁻¹ is stored as S Sᵀ, and S starts at I/√λ.
    With φ = Sᵀx and s = 1 + ‖φ‖², the updates are w ← w + S φ (y − xᵀw)/s and S ← S − S φ φᵀ/(s + √s). As λ →
    0, the solution becomes that of `lls`. Source: Hoerl, Kennard 1970; Potter 1963 for the square root;
    theory/conventions#update-rules.
    """

    lam: Annotated[
        float, Meta(ge=1e-12, title="penalty λ", description="penalty on ‖w‖², above 0; for λ = 0, use lls")
    ] = 1.0

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", linear_in_labels=True)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return RidgeFit(data, self.lam)

    def size(self, n: int, d: int) -> int:
        return d * d

    def invariance(self) -> Verdict:
        return Verdict(
            True,
            "the solution is a sum of seen instances, with coefficients that depend only on inner products",
        )


class Root:
    """Square root S of P = (XᵀX + λI)⁻¹ for every replica, updated after each instance."""

    def __init__(self, root: torch.Tensor) -> None:
        """Store the matrices S [R, d, d], which updates change in place."""
        self._root = root

    @classmethod
    def of_penalty(cls, data: Data, lam: float) -> Root:
        """Return the square root S = I/√λ before any example, for the penalty λ."""
        eye = torch.eye(data.instances.d, dtype=torch.float64, device=data.labels.device)
        return cls((eye / lam**0.5).repeat(data.replicas, 1, 1))

    def copy(self) -> Root:
        return Root(self._root.clone())

    def add(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add instances [R, b, d] one by one. Return P x [R, d, b] and s = 1 + xᵀP x [R, 1, b] for each.

        For each instance x, P is the value of S Sᵀ just before x is added. X contains all b added instances.
        Let φ = SᵀXᵀ and L Lᵀ = I + φᵀφ. The diagonal of L contains √s for each instance, and the columns of
        Sφ L⁻ᵀ are P x/√s. At the end, S becomes S − Sφ L⁻ᵀ(L + I)⁻¹φᵀ. Source: Andrews 1968; for one instance
        Potter 1963.
        """
        phi = self._root.mT @ rows.mT  # [R, d, b]
        eye = torch.eye(rows.shape[1], dtype=phi.dtype, device=phi.device)
        factor = torch.linalg.cholesky(eye + phi.mT @ phi)
        images = torch.linalg.solve_triangular(factor, (self._root @ phi).mT, upper=False)  # [R, b, d]
        self._root.baddbmm_(
            images.mT, torch.linalg.solve_triangular(factor + eye, phi.mT, upper=False), alpha=-1
        )
        roots = factor.diagonal(dim1=1, dim2=2)[:, None]
        return images.mT * roots, roots.square()

    def product(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the products P v [R, d, m] for vectors v, the columns of `vectors` [R, d, m]."""
        return self._root @ (self._root.mT @ vectors)

    def leverages(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the leverages xᵀP x [R, n] of rows x [R, n, d]."""
        return (rows @ self._root).square().sum(2)


class RidgeFit:
    """Ridge solution w for every replica and target, updated by one or several examples at a time."""

    def __init__(self, data: Data, lam: float) -> None:
        self._root = Root.of_penalty(data, lam)
        shape = data.replicas, len(data.labels) // data.replicas, data.instances.d
        self._w = torch.zeros(shape, dtype=torch.float64, device=data.labels.device)
        self._dtype = data.labels.dtype

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        for X, y in in_blocks(instances, labels):
            errors = torch.baddbmm(y, self._w, X.mT, alpha=-1)  # [R, m, b]
            images, stretches = self._root.add(X)
            # w changes by P Xᵀ(y − Xw), where P = (XᵀX + λI)⁻¹ already includes the new instances.
            gains = images / stretches if X.shape[1] == 1 else self._root.product(X.mT)  # [R, d, b]
            self._w.baddbmm_(errors, gains.mT)

    def predict(self, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights())

    def weights(self) -> torch.Tensor:
        w: torch.Tensor = self._w.to(self._dtype, copy=True)
        return w.flatten(0, 1)
