"""Least squares followed by a tanh, which is optimal for labels ±1 if the instances are random signs."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure
from engine.solvers.lls import DEPENDENT, LeastSquaresFit

SATURATED = 1e-8
"""Smallest value of the divisor 1 − k/d.

With this divisor, a quotient of 1 is so large that tanh saturates. A rounding error stays near 0.
"""


class TanhLLS(Solver, frozen=True, tag="tanh-lls"):
    """Least squares with a tanh: ŷ = tanh(xᵀw/(1 − k/d)) for rows x outside the span of the k rows seen.

    w = X⁺y is the least-squares solution for the rows seen. For rows in their span, the prediction is xᵀw.
    Suppose that all entries of the instances are random signs, and that the label y of a row is one of its
    entries. Then an unseen row has xᵀw ≈ ρ y + N(0, ρ(1 − ρ)), where ρ = k/d. The tanh is the posterior mean
    of y given xᵀw alone. For k ≥ d, the prediction outside the span is sgn(xᵀw). The solver costs O(d²) per
    example, and O(n d²) per evaluation on n rows. Source: theory/hadamard#random-signs.
    """

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", linear_in_instance=False, labels="signs")

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return TanhFit(data)

    def size(self, n: int, d: int) -> int:
        return 2 * d * d + 3 * n * d

    def invariance(self) -> Verdict:
        return Verdict(True, "its predictions depend only on inner products of rows")


class TanhFit(LeastSquaresFit):
    """Least-squares solution for the examples seen. Their number sets the scale of the tanh."""

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self._count, self._d = 0, data.instances.d
        self._targets = data.targets * data.variants
        self._spanned: tuple[torch.Tensor, torch.Tensor] | None = None  # rows, and whether each is spanned

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        super().learn(instances, labels)
        self._count += instances.n
        self._spanned = None

    def predict(self, instances: Instances) -> torch.Tensor:
        fitted = super().predict(instances).double()
        unseen_share = max(1 - self._count / self._d, SATURATED)
        in_span = self._is_spanned(instances.rows).repeat_interleave(self._targets, 0)
        return torch.where(in_span, fitted, torch.tanh(fitted / unseen_share)).to(instances.dtype)

    def _is_spanned(self, rows: torch.Tensor) -> torch.Tensor:
        """Return whether each row [R, n, d] lies in the span of the rows seen, [R, n]."""
        if self._spanned is not None and self._spanned[0] is rows:
            return self._spanned[1]
        exact = rows.double()
        outside = torch.baddbmm(exact, exact, self._projector, alpha=-1)
        is_spanned = outside.square().sum(2) <= DEPENDENT**2 * exact.square().sum(2)
        self._spanned = rows, is_spanned
        return is_spanned

    def weights(self) -> None:
        return
