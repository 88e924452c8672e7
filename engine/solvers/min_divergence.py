"""Solver for the interpolating w that is nearest to the start of mirror descent, in Bregman divergence."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import BadField, Positive, Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

RESIDUAL = 1e-9
"""Largest error of a fitted label, relative to labels of about size 1.

The labels are those of orthonormal combinations of the instances.
"""

DEPENDENT = 1e-12
"""Singular values below this share of the largest singular value count as 0."""


class MinDivergence(Solver, frozen=True, tag="min-divergence"):
    """The w of least Bregman divergence D_Ψ(w, w₀) among all w with Xw = y on the examples so far.

    If mirror descent with the potential Ψ converges from w₀, its limit is this w, because ∇Ψ(w) − ∇Ψ(w₀)
    stays in the span of the instances. With the entropy Ψ = Σ w_i ln w_i − w_i, every weight starts at w₀ =
    `w0` (default 1/d). The solution is then w = w₀ exp(Xᵀν), the limit of `egu`, and only w ≥ 0 are possible.
    With Ψ = ½‖w‖_q², the start is w₀ = 0. The solution is then the w of least ‖w‖_q, the limit of `p-norm`
    with 1/p + 1/q = 1. The default is p = 2 ln d. scipy's trust-region Newton method solves the dual problem,
    anew for every k. If no w fits the labels (with the entropy, no w ≥ 0), the labels are replaced by the
    predictions of a least-squares fit. With the entropy, this fit also has w ≥ 0. The solver raises
    ArithmeticError if the relative error of a label is above 1e-9. Source: GLSS18a;
    theory/implicit-bias#optimisation-geometry.
    """

    potential: Annotated[
        Literal["entropy", "p-norm"],
        Meta(
            title="potential Ψ", description="potential of mirror descent: the entropy, or ½‖w‖_q² (p-norm)"
        ),
    ] = "entropy"
    w0: Annotated[
        Positive | None,
        Meta(title="start w₀", description="start of every weight, for the entropy; none: 1/d"),
    ] = None
    p: Annotated[
        Annotated[float, Meta(ge=2, le=1000)] | None,
        Meta(title="p", description="p of the p-norm potential; 2: least squares, none: 2 ln d"),
    ] = None

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", names_norm=self.potential == "p-norm")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.potential == "entropy" and self.p is not None:
            raise BadField("p", "p only applies to the potential p-norm; leave it out")
        if self.potential == "p-norm" and self.w0 is not None:
            raise BadField(
                "w0", "w0 only applies to the entropy, because the potential p-norm starts at 0; leave it out"
            )

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        power = self.p or max(2.0, 2 * math.log(weights.shape[1]))
        norms: torch.Tensor = torch.linalg.vector_norm(weights.double(), power / (power - 1), 1)
        return norms

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        d = data.instances.d
        if self.potential == "entropy":
            return Refit(data, partial(nearest, dual=Entropy(self.w0 or 1 / d)))
        return Refit(data, partial(nearest, dual=Power(self.p or max(2.0, 2 * math.log(d)))))

    def size(self, n: int, d: int) -> int:
        return 6 * n * d + 3 * n * n

    def invariance(self) -> Verdict:
        if self.potential == "p-norm" and self.p == 2:
            return Verdict(True, "the solver minimises ½‖w‖₂², which rotations do not change")
        return Verdict(False, "the potential is a sum over the entries of w, which singles out the axes")


class Entropy:
    """Dual potential Ψ*(θ) = w₀ Σ e^θ_i of the entropy Ψ.

    The gradient of Ψ* is w. `curvature` returns vectors a and b for which the Hessian of Ψ* is diag a − b bᵀ.
    """

    def __init__(self, start: float) -> None:
        self._start = start

    def value(self, theta: Floats) -> float:
        return float(self.weights(theta).sum())

    def weights(self, theta: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self._start * np.exp(theta))

    def curvature(self, theta: Floats) -> tuple[Floats, Floats]:
        w = self.weights(theta)
        return w, np.zeros_like(w)


class Power:
    """Dual potential Ψ*(θ) = ½‖θ‖_p² of Ψ(w) = ½‖w‖_q².

    The gradient of Ψ* is w. `curvature` returns vectors a and b for which the Hessian of Ψ* is diag a − b bᵀ.
    """

    def __init__(self, p: float) -> None:
        self._p = p

    def value(self, theta: Floats) -> float:
        return 0.5 * float(np.linalg.norm(theta, self._p)) ** 2

    def weights(self, theta: Floats) -> Floats:
        norm = float(np.linalg.norm(theta, self._p))
        if norm == 0:
            return np.zeros_like(theta)
        part = theta / norm
        return np.asarray(norm * np.sign(part) * np.abs(part) ** (self._p - 1))

    def curvature(self, theta: Floats) -> tuple[Floats, Floats]:
        norm = float(np.linalg.norm(theta, self._p)) or 1.0
        part = np.abs(theta) / norm
        along = np.sign(theta) * part ** (self._p - 1)
        return (self._p - 1) * part ** (self._p - 2), math.sqrt(self._p - 2) * along


def nearest(X: Floats, y: Floats, dual: Entropy | Power) -> Floats:
    """Return w = ∇Ψ*(Xᵀν) with Xw = y, for X [k, d] and y [k]. If no w fits y, Xw is nearest to y.

    The method minimises Ψ*(Aᵀν) − ν·b over ν. The matrix A has orthonormal rows, and Aw = b has the same
    solutions as Xw = y.

    Raises: ArithmeticError if the search ends at a w that does not fit.
    """
    from scipy.optimize import minimize, nnls  # type: ignore[import-untyped]

    left_vectors, sizes, right_vectors = np.linalg.svd(X, full_matrices=False)
    rank = int((sizes > DEPENDENT * sizes[:1]).sum())
    A, b = right_vectors[:rank], left_vectors[:, :rank].T @ y / sizes[:rank]
    if isinstance(dual, Entropy):
        # In A, rounding separates columns that are equal or opposite in X, and weights of 1e16 would fit.
        b = A @ nnls(X, y, maxiter=30 * A.shape[1])[0]
    elif not b.any():
        return np.zeros(X.shape[1])

    def hessian(nu: Floats) -> Floats:
        diagonal, across = dual.curvature(nu @ A)
        other = A @ across
        return np.asarray((A * diagonal) @ A.T - np.outer(other, other))

    # The gradient of a p-norm vanishes at 0, so the search starts at the least-squares solution.
    start = b.copy() if isinstance(dual, Power) else np.zeros(rank)
    solved = minimize(
        lambda nu: dual.value(nu @ A) - nu @ b,
        start,
        jac=lambda nu: A @ dual.weights(nu @ A) - b,
        hess=hessian,
        callback=lambda nu: go_on(),
        method="trust-exact",
        options={"gtol": 1e-12 * max(1.0, float(np.abs(b).max(initial=0.0))), "maxiter": 2000},
    )
    nu = solved.x

    def missed(nu: Floats) -> float:
        return float(np.abs(A @ dual.weights(nu @ A) - b).max(initial=0.0))

    for _ in range(3):  # values lose digits before gradients do
        further = nu - np.linalg.lstsq(hessian(nu), A @ dual.weights(nu @ A) - b)[0]
        if missed(further) < missed(nu):
            nu = further
    if not missed(nu) <= RESIDUAL * max(1.0, float(np.abs(b).max(initial=0.0))):
        raise ArithmeticError(f"min-divergence on {len(X)} examples misses a label by {missed(nu):.1e}")
    return dual.weights(nu @ A)
