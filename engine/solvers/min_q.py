"""Solver for the minimiser of the penalty Q_α, which is the limit of gradient flow on a diagonal net."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures.spindly import Shape, filled
from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.core.stopping import go_on
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.solvers import Floats, Refit, Solver, SolverStructure

RESIDUAL = 1e-10
"""Largest error of a fitted label, relative to labels of about size 1.

The labels are those of orthonormal combinations of the instances.
"""

GAP = 1e-9
"""Largest duality gap of a solution, relative to the linear term ν·b of the dual objective."""

DEPENDENT = 1e-12
"""Singular values below this share of the largest singular value count as 0."""

STEPS = 200
"""Maximum number of Newton steps at each scale c. Usually, 0 to 11 suffice."""

EASY = 100.0
"""Scale c = α^D at which the search begins, for solutions of size 1. There, Q is quadratic up to 1e-5."""

NEAREST = 0.05
"""For D ≥ 3, a step keeps at least this share of the distance from each z_i to ±1."""

FARTHEST = 4.0
"""For D = 2, largest change of any z_i in a step."""


Point = tuple[Floats, Floats, Floats, Floats]
"""Variables of the dual problem: ν, z, 1 − z and 1 + z."""


class MinQ(Solver, frozen=True, tag="min-q"):
    """The limit of gradient flow on a diagonal net w = u^D − v^D: the interpolating w of least Q_α(w).

    Suppose that gradient flow on square loss starts at u = v = α θ and fits the examples. Here the number α
    is the scale of the start, and the vector θ is its shape. The flow then converges to the w of least Q_α(w)
    among all w with Xw = y. Here Q_α(w) = Σ_i α_i² q(w_i/α_i^D) with α_i = α θ_i. For D = 2, q(b) = 2 − √(4 +
    b²) + b asinh(b/2) and q′(b) = asinh(b/2). For D ≥ 3, q′ = h⁻¹ with h(z) = (1 − z)^(−p) − (1 + z)^(−p) and
    p = D/(D − 2).

    As α → ∞, the solution becomes the w of least Σ_i w_i²/θ_i^(2D−2). For θ = 1, this is the solution of
    `lls`. As α → 0, the solution becomes the w of least Σ_i |w_i|/θ_i^(D−2). For θ = 1 or D = 2, this is a
    solution of `basis-pursuit`. Each fit solves the dual problem by Newton's method for decreasing scales,
    the last of which is α. The solver raises ArithmeticError if the relative error of the fit is above 1e-10.
    It also raises ArithmeticError if the duality gap exceeds 1e-9 of the dual objective's linear term. If no
    w satisfies Xw = y, the labels y are replaced by the predictions XX⁺y of least squares. Source: WGL20
    Thm 1; theory/implicit-bias#kernel-and-rich; theory/implicit-bias#shaped-start.
    """

    alpha: Annotated[
        float,
        Meta(
            ge=1e-30,
            le=1e3,
            title="scale α",
            description="scale of the weights at the start; small: rich regime, large: kernel regime",
        ),
    ] = 0.01
    depth: Annotated[int, Meta(ge=2, le=8, title="depth D", description="depth of the diagonal net")] = 2
    shape: Shape = ()

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", names_norm=self.depth == 2)

    def norm(self, weights: torch.Tensor) -> torch.Tensor:
        weights = weights.double()
        scales = weights.new_tensor(self.alpha**2 * filled(self.shape, weights.shape[1]) ** 2)
        ratios = weights / scales
        # 2 − √(4 + b²) without cancellation at small b
        rest = ratios.square() / (2 + (4 + ratios.square()).sqrt())
        return (scales * (ratios * torch.asinh(ratios / 2) - rest)).sum(1)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        paths: list[Path] = data.memo.setdefault((self.kind, self.depth, self.shape), [])
        shape = filled(self.shape, data.instances.d)

        def solve(X: Floats, y: Floats) -> Floats:
            path = next((old_path for old_path in paths if old_path.is_of(X, y)), None) or Path(
                X, y, self.depth, shape
            )
            if len(X) == data.instances.n and path not in paths:
                paths.append(path)
            return path.at(self.alpha)

        return Refit(data, solve)

    def size(self, n: int, d: int) -> int:
        least = self.alpha * min((1.0, *self.shape))
        decades = max(0.0, math.log10(EASY) - self.depth * math.log10(least))
        passed = math.ceil(decades / -math.log10(_ratio_of_scales(self.depth)))
        return 8 * n * d + 3 * n * n + passed * (3 * d + n)

    def invariance(self) -> Verdict:
        return Verdict(False, "Q is a sum over the entries of w, which singles out the coordinate axes")


class Path:
    """Minimisers of Q_α for fixed examples, as a function of the scale α.

    The search for the minimiser at one α first finds minimisers at larger α. They are stored for later
    searches. The stored values of α do not depend on the order in which minimisers are requested.
    """

    def __init__(self, X: Floats, y: Floats, depth: int, shape: Floats) -> None:
        """Store examples X [k, d] and y [k], the net's depth D ≥ 2, and the shape θ [d] of its start."""
        self._examples, self._depth, self._shape = (X, y), depth, shape
        self._easy = EASY / float(shape.min()) ** depth
        left_vectors, sizes, right_vectors = np.linalg.svd(X, full_matrices=False)
        rank = int((sizes > DEPENDENT * sizes[:1]).sum())
        self._rows = right_vectors[:rank]  # orthonormal; rows · w = labels means Xw = XX⁺y
        self._labels = left_vectors[:, :rank].T @ y / sizes[:rank]
        self._shortest: Floats = self._labels @ self._rows
        self._unit = float(abs(self._shortest).max(initial=0.0))
        self._is_only = self._unit == 0 or rank == X.shape[1]
        self._passed: list[tuple[float, Point]] = []
        """Scales c, each with the solution of the dual problem at this scale.

        The first scale is large, because the problem is easy there. Each next scale is smaller by the same
        factor.
        """

    def is_of(self, X: Floats, y: Floats) -> bool:
        instances, labels = self._examples
        return np.array_equal(instances, X) and np.array_equal(labels, y)

    def at(self, alpha: float) -> Floats:
        """Return the weights w [d] of least Q_α that fit the examples.

        Raises: ArithmeticError if Newton's method does not find them.
        """
        if self._is_only:
            return self._shortest
        scale = alpha**self._depth / self._unit
        labels = self._labels / self._unit
        search = Dual(self._rows, labels, max(scale, self._easy), self._depth, self._shape)
        if scale >= self._easy:
            search.solve()
        else:
            self._solve_down_to(scale, search)
            search.go_to(*next(passed for passed in reversed(self._passed) if passed[0] >= scale))
            if search.scale > scale:
                search.move(scale)
                search.solve()
        search.check()
        w: Floats = search.solution * self._unit
        return w

    def _solve_down_to(self, scale: float, search: Dual) -> None:
        """Solve the dual problem at decreasing scales c above `scale`, and store each solution."""
        ratio = _ratio_of_scales(self._depth)
        if not self._passed:
            search.solve()
            self._passed.append((search.scale, search.point))
        if (last := self._passed[-1])[0] * ratio > scale:
            search.go_to(*last)
        while self._passed[-1][0] * ratio > scale:
            search.move(self._passed[-1][0] * ratio)
            search.solve()
            self._passed.append((search.scale, search.point))


def _ratio_of_scales(depth: int) -> float:
    """Return the factor below 1 between the scales of successive dual problems that `Path` solves."""
    return float(10**-0.5 if depth == 2 else 10 ** (-0.1 * depth))


class Dual:
    """Newton's method on the dual problem of least Q_α: the maximum of a function G(ν).

    A [r, d] has orthonormal rows, and Aw = b has the same solutions as Xw = y. θ is the shape of the start,
    the scale c is proportional to α^D, and h is the function of `MinQ`. With H′ = h and z_i = θ_i^(D−2)
    (Aᵀν)_i, G(ν) = ν·b − c Σ_i θ_i² H(z_i). The gradient of G is b − Aw for w_i = c θ_i^D h(z_i). The maximum
    of G is proportional to the least Q_α of all w with Aw = b.

    For D ≥ 3, every z_i lies in (−1, 1). Near ±1, the distances 1 − z and 1 + z cannot be computed exactly
    enough from z. They are therefore stored too, and every step changes z and both distances.
    """

    def __init__(self, rows: Floats, labels: Floats, scale: float, depth: int, shape: Floats) -> None:
        """Store the problem at a scale c so large that the function h is nearly linear.

        Newton's method starts at the ν that solves the problem with h(z) = h′(0) z.
        """
        self.scale = scale
        self._rows, self._labels = rows, labels
        self._power = 0.0 if depth == 2 else depth / (depth - 2)
        self._shape, self._sizes, self._factors = shape, shape**depth, shape ** (depth - 2)
        gram = (rows * self._sizes * self._factors) @ rows.T
        slope = scale * (2 * self._power or 2.0)
        self._nu: Floats = np.asarray(np.linalg.solve(gram, labels / slope), np.float64)
        self._z = self._factors * (self._nu @ rows)
        self._below, self._above = 1 - self._z, 1 + self._z
        self._evaluate()

    def move(self, scale: float) -> None:
        """Change to another scale c, and to a ν near the solution of the dual problem at this scale."""
        if not self._power:
            old, new = (c**-1.0 if c >= 1 else max(1.0, -np.log(c)) for c in (self.scale, scale))
            self._nu, self._z = self._nu * (new / old), self._z * (new / old)
        self.scale = scale
        self._evaluate()

    def go_to(self, scale: float, point: Point) -> None:
        self.scale = scale
        self._nu, self._z, self._below, self._above = point
        self._evaluate()

    @property
    def point(self) -> Point:
        return self._nu, self._z, self._below, self._above

    def solve(self) -> None:
        """Make Newton steps until the labels are fitted, or until rounding prevents further progress."""
        for _ in range(STEPS):
            go_on()
            if self._relative_residual <= RESIDUAL / 100 or not self._make_newton_step():
                return

    def check(self) -> None:
        """Check that w fits the labels, with a duality gap of at most GAP. Raises: ArithmeticError."""
        if self._relative_residual > RESIDUAL or abs(self._nu @ self._residual) > GAP * abs(
            self._nu @ self._labels
        ):
            raise ArithmeticError(
                f"min-q on {self._rows.shape[0]} independent examples of {self._rows.shape[1]} features "
                f"misses a label by {self._relative_residual:.1e} of its size; take a larger alpha"
            )

    @property
    def solution(self) -> Floats:
        return self._w

    @property
    def _relative_residual(self) -> float:
        return float(abs(self._residual).max() / abs(self._labels).max())

    def _make_newton_step(self) -> bool:
        """Make a Newton step that increases the dual objective G. Return whether there was such a step.

        If rounding hides changes of G, make a step that reduces the residual instead.
        """
        half = self._rows * np.sqrt(self._slopes * self._factors)
        direction, gain = self._newton_direction(half @ half.T)  # XXᵀ costs half of a general product
        change = self._factors * (direction @ self._rows)
        size = self._largest_reliable_share(change)
        before, objective, missed = self.point, self._objective, self._relative_residual
        rounding = 1e-12 * abs(objective)
        while size > 1e-10:
            self._move_to(before, size, direction, change)
            if self._objective >= objective + 1e-4 * size * gain and gain > rounding:
                return True
            if gain <= rounding and self._relative_residual < missed:
                return True
            size /= 2
        self._move_to(before, 0.0, direction, change)
        return False

    def _newton_direction(self, hessian: Floats) -> tuple[Floats, float]:
        """Return the Newton step in ν, and twice the increase of G that the quadratic model predicts."""
        from scipy.linalg import LinAlgError, cho_factor, cho_solve  # type: ignore[import-untyped]

        ridge, more = 0.0, np.finfo(float).eps * float(hessian.trace())
        while True:
            try:
                factor = cho_factor(hessian + ridge * np.eye(len(hessian)))
                break
            except LinAlgError:  # some directions have no curvature, up to rounding
                ridge = max(10 * ridge, more)
        direction: Floats = cho_solve(factor, self._residual)
        return direction, float(direction @ self._residual)

    def _largest_reliable_share(self, change: Floats) -> float:
        """Return the largest share of a Newton step, at most 1, for which the quadratic model is reliable.

        For D = 2, this requires that no z_i changes by more than FARTHEST. For D ≥ 3, every z_i must keep the
        share NEAREST of its distances to ±1.
        """
        if not self._power:
            return min(1.0, FARTHEST / max(float(abs(change).max()), 1e-300))
        shares = np.maximum(change / self._below, -change / self._above)
        return min(1.0, (1 - NEAREST) / max(float(shares.max()), 1e-300))

    def _move_to(self, before: Point, size: float, direction: Floats, change: Floats) -> None:
        nu, z, below, above = before
        self._nu, self._z = nu + size * direction, z + size * change
        self._below, self._above = below - size * change, above + size * change
        self._evaluate()

    def _evaluate(self) -> None:
        """Compute w, the derivatives ∂w_i/∂z_i, the residual and the objective G at the current point."""
        c, p, z = self.scale * self._sizes, self._power, self._z
        if not p:
            self._w, self._slopes = 2 * c * np.sinh(z), 2 * c * np.cosh(z)
            total = self._slopes.sum()
        else:
            up, down = self._below**-p, self._above**-p
            near = np.clip(z, -0.5, 0.5)  # up − down loses digits for small z
            without_loss = 2 * (1 - near**2) ** (-p / 2) * np.sinh(p * np.arctanh(near))
            self._w = c * np.where(near == z, without_loss, up - down)
            self._slopes = c * p * (up / self._below + down / self._above)
            weights = self.scale * self._shape**2 / (p - 1)
            total = (weights * (self._below ** (1 - p) + self._above ** (1 - p))).sum()
        self._residual = self._labels - self._rows @ self._w
        self._objective = float(self._nu @ self._labels - total)
