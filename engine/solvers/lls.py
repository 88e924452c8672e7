"""Linear least squares."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.core.linear_algebra import length
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure, in_blocks

DEPENDENT = 1e-9
"""An instance adds no rank if less than this share of its length is outside the span of earlier instances."""


class LLS(Solver, frozen=True, tag="lls"):
    """Minimum-norm least squares: w = X⁺y over the examples so far, with O(d²) work per example.

    Greville's recursion updates two matrices in float64: the projector P onto the span of the instances, and
    M = (XᵀX)⁺. The part of a new instance x outside the span is c = x − P x. If c ≠ 0, then w ← w + c (y −
    xᵀw)/‖c‖². Otherwise w ← w + M x (y − xᵀw)/(1 + xᵀM x). M is computed when an instance first lies in the
    span of earlier instances. A QR decomposition adds several instances with c ≠ 0 at once. Several instances
    in the span are added by w ← w + MXᵀS⁻¹(y − Xw), with S = I + XMXᵀ, and then by M ← M − MXᵀS⁻¹XM.
    Source: Greville 1960; theory/conventions#update-rules.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(
            learner_kind="exact", projects=True, linear_in_labels=True, from_start=True, names_norm=True
        )

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        return length(weights, "2")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return LeastSquaresFit(data)

    def size(self, n: int, d: int) -> int:
        return 2 * d * d + n * d

    def invariance(self) -> Verdict:
        return Verdict(
            True,
            "w = Σ_j a_j x_j with coefficients a that depend only on labels and inner products",
        )


class LeastSquaresFit:
    """Least-squares solution for the examples seen, for every replica and target."""

    def __init__(self, data: Data) -> None:
        rows = data.instances.rows
        shape = (data.replicas, data.instances.d, data.instances.d)
        self._projector = torch.zeros(shape, dtype=torch.float64, device=rows.device)
        self._inverse: torch.Tensor | None = None  # M, from the first dependent instance on
        self._seen: list[torch.Tensor] = []  # instances before the first dependent one, [R, d, b] each
        self._rank = torch.zeros(data.replicas, 1, 1, dtype=torch.int64, device=rows.device)
        self._w = torch.zeros(
            (data.replicas, data.targets, shape[-1]), dtype=torch.float64, device=rows.device
        )
        self._solution = self._w.to(rows.dtype, copy=True).flatten(0, 1)

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        for X, y in in_blocks(instances, labels):
            if X.shape[1] > 1 and self._add_examples(X, y):
                continue
            for number in range(X.shape[1]):
                self._add_example(X[:, number, :, None], y[:, :, number, None])
        self._solution = self._w.to(self._solution.dtype, copy=True).flatten(0, 1)

    def _add_examples(self, X: torch.Tensor, y: torch.Tensor) -> bool:
        """Update the solution by b examples at once: instances X [R, b, d] with labels y [R, m, b].

        In every replica, either all b instances must add rank, or the earlier instances must span all
        features. Otherwise, change nothing. Return whether the solution was updated.
        """
        if self._inverse is not None:
            return bool((self._rank == X.shape[2]).all()) and self._add_spanned(self._inverse, X, y)
        if X.shape[1] > X.shape[2]:
            return False
        outside = torch.baddbmm(X, X, self._projector, alpha=-1)
        outside = torch.baddbmm(outside, outside, self._projector, alpha=-1)
        basis, triangle = torch.linalg.qr(outside.mT)  # [R, d, b], [R, b, b]
        lengths = triangle.diagonal(dim1=1, dim2=2).abs()
        if not (lengths > DEPENDENT * torch.linalg.vector_norm(X, dim=2)).all():
            return False
        errors = torch.baddbmm(y, self._w, X.mT, alpha=-1)
        along = torch.linalg.solve_triangular(triangle, errors, upper=True, left=False)
        self._w.baddbmm_(along, basis.mT)
        self._projector.baddbmm_(basis, basis.mT)
        self._seen.append(X.mT)
        self._rank += X.shape[1]
        return True

    def _add_spanned(self, inverse: torch.Tensor, X: torch.Tensor, y: torch.Tensor) -> bool:
        """Update the solution, and `inverse` M, by examples in the span of earlier ones; return True.

        With S = I + XMXᵀ, M becomes M − MXᵀS⁻¹XM, and w changes by MXᵀS⁻¹(y − Xw).
        """
        images = X @ inverse
        eye = torch.eye(X.shape[1], dtype=X.dtype, device=X.device)
        root = torch.linalg.cholesky(eye + images @ X.mT)
        halves = torch.linalg.solve_triangular(root, images, upper=False)  # [R, b, d]
        errors = torch.baddbmm(y, self._w, X.mT, alpha=-1)
        weighted = torch.linalg.solve_triangular(root, errors.mT, upper=False)  # [R, b, m]
        self._w.baddbmm_(weighted.mT, halves)
        inverse.baddbmm_(halves.mT, halves, alpha=-1)
        return True

    def _add_example(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Update the solution by one example: an instance x [R, d, 1] with labels y [R, m, 1]."""
        outside = torch.baddbmm(x, self._projector, x, alpha=-1)
        # A second projection makes `outside` orthogonal to the span, up to rounding.
        outside = torch.baddbmm(outside, self._projector, outside, alpha=-1)
        length = torch.bmm(outside.mT, outside)
        new = length > DEPENDENT**2 * torch.bmm(x.mT, x)
        self._rank += new
        error = torch.baddbmm(y, self._w, x, alpha=-1)  # [R, m, 1]
        if self._inverse is None and not new.all():
            self._inverse = self._initial_inverse()
            self._seen.clear()
        if self._inverse is None:
            self._seen.append(x)
            along = outside / length
            gain = along
        else:
            along = outside / torch.where(new, length, 1.0)
            outside = torch.where(new, outside, 0.0)
            gain = self._update_inverse(self._inverse, x, along, new)
        self._w.baddbmm_(error, gain.mT)
        self._projector.baddbmm_(outside, along.mT)

    def _initial_inverse(self) -> torch.Tensor:
        """Return (XᵀX)⁺ for the matrix X whose rows are the instances seen."""
        if not self._seen:
            return torch.zeros_like(self._projector)
        inverse = torch.linalg.pinv(torch.cat(self._seen, 2).mT)  # [R, d, k]
        gram: torch.Tensor = inverse @ inverse.mT
        return gram

    def _update_inverse(
        self, inverse: torch.Tensor, x: torch.Tensor, along: torch.Tensor, new: torch.Tensor
    ) -> torch.Tensor:
        """Update `inverse`, M = (XᵀX)⁺, by an instance x; return the direction [R, d, 1] of w's change."""
        image = inverse @ x
        stretch = 1 + (x * image).sum(1, keepdim=True)
        # Whether x adds rank or not, the change of M is a bᵀ + b aᵀ.
        a = torch.where(new, along, image)
        b = torch.where(new, stretch / 2 * along - image, image / (-2 * stretch))
        inverse.baddbmm_(torch.cat((a, b), 2), torch.cat((b, a), 2).mT)
        gain: torch.Tensor = torch.where(new, along, image / stretch)
        return gain

    def predict(self, instances: Instances) -> torch.Tensor:
        return instances.products(self._solution)

    def weights(self) -> torch.Tensor | None:
        return self._solution
