"""Kernel ridge regression and kernel interpolation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.parts import Positive, Verdict
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

    OfTwo = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

DEPENDENT = 1e-11
"""An example adds no rank to the Gram matrix if its pivot is at most this share of its diagonal entry."""

ALIGNED = 1e-13
"""Unit vectors whose cosine differs from ±1 by less count as equal or opposite.

arccos has a square-root singularity there, where rounding of 1e-16 would become 1e-8.
"""


MOST_DEGREE = 1023
"""Of higher powers even that of 1 + 1 is no float64 number."""

MOST_BITS = 500
"""The xor-product kernel goes up to 2^d, whose square must be a float64 number."""


class Kernel(Solver, frozen=True, tag="kernel"):
    """Kernel ridge regression: ŷ(x) = Σ_j a_j K(x_j, x) with a = (K + λI)⁻¹y over the examples so far.

    λ = `lam` = 0 is minimum-norm interpolation, a = K⁺y, where examples that depend on earlier ones (up to
    rounding) are fitted by least squares. Kernels: linear xᵀx̃; polynomial (c + xᵀx̃)^p, c = `offset`,
    p = `degree`; rbf exp(−‖x − x̃‖²/(2 s²)), s = `width`; xor-product Π_i (1 + x_i x̃_i), the inner product of
    all 2^d products of bits; ntk, of an infinitely wide two-layer ReLU net with both layers trained,
    ‖x‖‖x̃‖ (u κ₀(u) + κ₁(u)) for the cosine u, κ₀ = (π − arccos u)/π, κ₁ = (√(1 − u²) + u(π − arccos u))/π.

    The Cholesky factor of K + λI grows by a row per example, in float64, along with its product with the
    kernels of all rows: O(k² + n k + n d) per example. With the linear kernel the weights are known too.
    Source: Saunders, Gammerman, Vovk 1998; Cho, Saul 2009, Jacot et al. 2018 for ntk; WKA21 §2 for
    xor-product; theory.md §§2, 4.
    """

    linear_in_labels: ClassVar[bool] = True
    of_kernel: ClassVar[bool] = True

    kernel: Annotated[
        Literal["linear", "polynomial", "rbf", "xor-product", "ntk"],
        Meta(title="kernel K", description="of two instances"),
    ] = "rbf"
    lam: Annotated[float, Meta(ge=0, title="penalty λ", description="0: interpolation")] = 0.0
    degree: Annotated[
        int, Meta(ge=1, le=MOST_DEGREE, title="degree p", description="of the polynomial kernel")
    ] = 2
    offset: Annotated[float, Meta(ge=0, title="offset c", description="of the polynomial kernel")] = 1.0
    width: Annotated[Positive | None, Meta(title="width s", description="of the rbf kernel; none: √d")] = None

    def refuses(self, d: int) -> str | None:
        if self.kernel != "xor-product" or d <= MOST_BITS:
            return None
        return (
            f"the xor-product kernel multiplies over single bits, at most {MOST_BITS}, and there are {d} "
            f"features; take the kernel linear, or instances that are bits"
        )

    def begin(self, data: Data) -> Hypothesis:
        return Fit(data, self.values, self.lam, weighs=self.kernel == "linear")

    def size(self, n: int, d: int) -> int:
        return 3 * n * n + 2 * n * d

    def invariance(self) -> Verdict:
        if self.kernel == "xor-product":
            return Verdict(
                False,
                "a product over the features, unlike an inner product, tells them apart",
                SIGNED_PERMUTATIONS,
            )
        of = {"rbf": "distances", "ntk": "lengths and angles"}.get(self.kernel, "inner products")
        return Verdict(True, f"the {self.kernel} kernel depends on {of} of instances only")

    @property
    def prior_noise(self) -> float | None:
        return self.lam or None

    def values(self, rows: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        if self.kernel == "xor-product":
            products = [(1 + rows * other[:, None]).prod(2) for other in others.unbind(1)]
            return torch.stack(products, 2)
        if self.kernel == "ntk":
            return _ntk(rows, others)
        inner = rows @ others.mT
        if self.kernel == "polynomial":
            return (self.offset + inner) ** self.degree
        if self.kernel == "rbf":
            squares = rows.square().sum(2)[:, :, None] + others.square().sum(2)[:, None]
            width = self.width or math.sqrt(rows.shape[2])
            return torch.exp((2 * inner - squares).clamp(max=0) / (2 * width**2))
        return inner


def _ntk(rows: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    lengths, other_lengths = (x.norm(dim=2, keepdim=True) for x in (rows, others))
    units, other_units = (
        x / torch.where(length > 0, length, 1.0) for x, length in ((rows, lengths), (others, other_lengths))
    )
    cosine = units @ other_units.mT
    cosine = torch.where(cosine.abs() > 1 - ALIGNED, cosine.sign(), cosine)
    rest = torch.pi - torch.arccos(cosine)
    sine = (1 - cosine.square()).sqrt()
    values: torch.Tensor = lengths * other_lengths.mT * (2 * cosine * rest + sine) / torch.pi
    return values


class Fit:
    """The kernel solution to the examples it has been told, for every replica and target.

    With the Cholesky factor L of K + λI and z(x) = L⁻¹(K(x_j, x))_j, predictions are cᵀz(x), c = L⁻¹y. An
    example has the pivot K(x, x) + λ − ‖z(x)‖²; its root is the next diagonal entry of L, and z(x) the rest
    of the row. If λ = 0 and the pivot is 0 the example has no row of its own (a unit row stands there), and
    c changes to the least-squares solution with the gain P z/(1 + zᵀP z), P = (Σ_j z_j z_jᵀ)⁻¹. There is
    room for as many examples as the data has rows.
    """

    def __init__(self, data: Data, values: OfTwo, lam: float, weighs: bool = False) -> None:
        """`values` is K of rows [R, n, d] with rows [R, k, d]; there are weights w if that `weighs`: xᵀx̃."""
        self._values, self._lam, self._weighs = values, lam, weighs
        self._given = data.instances.rows
        self._rows = self._given.double()  # [R, n, d]
        replicas, n, d = self._rows.shape
        self._k = 0
        self._seen = self._rows.new_zeros(replicas, n, d)
        self._factor = self._rows.new_zeros(replicas, n, n)  # L
        self._real = self._rows.new_zeros(replicas, n, 1)  # 1 where an example has a row of its own
        self._z = self._rows.new_zeros(replicas, n, n)  # z of all rows, [R, k, n]
        self._c = self._rows.new_zeros(replicas, len(data.labels) // replicas, n)
        self._inverse = self._rows.new_zeros(replicas, n, n) if lam == 0 else None  # P
        self._predictions = torch.zeros_like(self._c)  # of all rows, [R, m, n]

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        """Take in examples one after the other: instances [R, n, d] and their labels [B, n]."""
        for x, y in one_by_one(instances, labels):
            self._add(x.mT, y)

    def _add(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Take in one example: an instance x [R, 1, d] and its labels y [R, m, 1]."""
        k, known = self._k, slice(self._k)
        z = self._coordinates(x)  # [R, k, 1]
        own = self._values(x, x)  # [R, 1, 1]
        pivot = (own - z.square().sum(1, keepdim=True)).clamp(min=0) + self._lam
        new = pivot > (DEPENDENT * own if self._inverse is not None else 0)
        root = torch.where(new, pivot, 1.0).sqrt()
        error = y - self._c[:, :, known] @ z  # [R, m, 1]

        if self._inverse is not None:
            image = self._inverse[:, known, known] @ z  # P z
            stretch = 1 + (z * image).sum(1, keepdim=True)
            gain = torch.where(new, 0.0, image / stretch)
            self._c[:, :, known] += error * gain.mT
            self._predictions += error * (gain.mT @ self._z[:, known])
            self._inverse[:, known, known] -= gain * image.mT
            beside = torch.where(new, -image / root, 0.0)
            self._inverse[:, known, k : k + 1] = beside
            self._inverse[:, k : k + 1, known] = beside.mT
            self._inverse[:, k : k + 1, k : k + 1] = torch.where(new, stretch / root.square(), 0.0)

        beyond = self._values(x, self._rows) - z.mT @ self._z[:, known]  # [R, 1, n]
        self._z[:, k : k + 1] = torch.where(new, beyond / root, 0.0)
        self._c[:, :, k : k + 1] = torch.where(new, error / root, 0.0)
        self._predictions += self._c[:, :, k : k + 1] * self._z[:, k : k + 1]
        self._factor[:, k : k + 1, known] = torch.where(new, z.mT, 0.0)
        self._factor[:, k : k + 1, k : k + 1] = root
        self._real[:, k : k + 1] = new.double()
        self._seen[:, k : k + 1] = x
        self._k += 1

    def _coordinates(self, rows: torch.Tensor) -> torch.Tensor:
        """z of rows [R, n, d], [R, k, n]."""
        if not self._k:
            return rows.new_zeros(len(rows), 0, rows.shape[1])
        known = slice(self._k)
        values = self._values(rows, self._seen[:, known]).mT * self._real[:, known]
        z: torch.Tensor = torch.linalg.solve_triangular(self._factor[:, known, known], values, upper=False)
        return z

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]; at no cost for all rows of the data."""
        if instances.rows is self._given:
            predictions = self._predictions
        else:
            predictions = self._c[:, :, : self._k] @ self._coordinates(instances.rows.double())
        return predictions.to(self._given.dtype, copy=True).flatten(0, 1)

    def weights(self) -> torch.Tensor | None:
        """The vectors w = Σ_j a_j x_j [B, d] of the linear kernel; None for the others."""
        if not self._weighs:
            return None
        return (self._dual().mT @ self._seen[:, : self._k]).to(self._given.dtype).flatten(0, 1)

    def squared_norm(self) -> torch.Tensor:
        """‖f‖² = aᵀKa [B] in the space of the kernel, which is ‖c‖² − λ‖a‖²."""
        c = self._c[:, :, : self._k]
        return (c.square().sum(2) - self._lam * self._dual().square().sum(1)).flatten()

    def _dual(self) -> torch.Tensor:
        """a = L⁻ᵀc of every replica and target, [R, k, m]."""
        known = slice(self._k)
        factor, c = self._factor[:, known, known], self._c[:, :, known]
        found: torch.Tensor = torch.linalg.solve_triangular(factor.mT, c.mT, upper=True) if self._k else c.mT
        return found
