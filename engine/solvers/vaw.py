"""The forecaster of Vovk, Azoury and Warmuth."""

from __future__ import annotations

from collections import deque
from typing import Annotated, NamedTuple

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.linear_algebra import with_rows
from engine.core.memory import DERIVED, Sizes
from engine.core.parts import Verdict
from engine.core.streams import Streams
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver, SolverStructure, one_by_one
from engine.solvers.ridge import Root

AHEAD = 64
"""Number of examples whose products with all rows are computed in one matrix product.

This takes a fifth of the time of separate products.
"""

SMALL = 1.0
"""Largest leverage at which changes of leverages may be rounded to float32 without harm to predictions."""

PIECE = 1 << 10
"""Number of rows that are converted to float64 at a time."""

LARGE = 1e4
"""Largest leverage that may be updated by differences. Updates of larger leverages lose too many digits."""


class VAW(Solver, frozen=True, tag="vaw"):
    """The Vovk–Azoury–Warmuth forecaster: ridge regression that also counts the predicted instance as seen.

    After k examples, the prediction for a row x is ŷ = bᵀ(A + x xᵀ)⁻¹x. Here A = εI + Σ_{j≤k} x_j x_jᵀ and b
    = Σ_{j≤k} y_j x_j. By the Sherman–Morrison formula, ŷ = xᵀw/(1 + xᵀA⁻¹x), where w is the ridge solution
    for λ = ε = `eps`. So ŷ is not linear in x. Predictions are updated example by example in float64. The
    example x_k changes the product xᵀw of every row x by a multiple of xᵀA⁻¹x_k. It changes the leverage
    xᵀA⁻¹x by a multiple of (xᵀA⁻¹x_k)². If training visits the data's rows in order, the next examples are
    known in advance. One matrix product then gives xᵀA⁻¹x_k for several next examples x_k. For n rows, an
    example costs O(d² + n d). For float32 data and small leverages, xᵀA⁻¹x_k is computed in float32. The
    products xᵀw and the leverages stay in float64, and an example changes them only by small corrections.
    Source: Azoury, Warmuth 2001; Vovk 2001; theory/conventions#update-rules.
    """

    eps: Annotated[
        float,
        Meta(ge=1e-12, title="ε", description="penalty on ‖w‖² in the ridge regression"),
    ] = 1.0

    def structure(self) -> SolverStructure:
        return SolverStructure(learner_kind="exact", linear_in_instance=False, linear_in_labels=True)

    def begin(self, data: Data, streams: Streams | None = None) -> Hypothesis:
        return Forecast(data, self.eps)

    def size(self, n: int, d: int) -> int:
        return 2 * d * d + (min(AHEAD, n) + min(PIECE, n)) * d + (min(AHEAD, n) + 4) * n

    def bytes_held(self, sizes: Sizes) -> int:
        return super().bytes_held(sizes) + DERIVED * sizes.batch * sizes.n

    def invariance(self) -> Verdict:
        return Verdict(
            True, "its predictions depend only on inner products, because εI has no preferred direction"
        )


class VAWStep(NamedTuple):
    """Precomputed part of `Forecast`'s update by an instance x [R, d, 1]; it does not depend on labels."""

    x: torch.Tensor
    image: torch.Tensor
    """P x, where P is A⁻¹ before x is added, [R, d, 1]."""

    stretch: torch.Tensor
    """Factor 1 + xᵀP x, where P is A⁻¹ before x is added, [R, 1, 1]."""

    products: torch.Tensor
    """Products of all rows with P x, [R, 1, n]."""


class Forecast:
    """State of the forecaster: products xᵀw with the ridge solution w, and leverages, for all rows x.

    Both are updated after every example. Forecasts are computed from them.
    """

    def __init__(self, data: Data, eps: float) -> None:
        self._rows = data.instances.rows  # [R, n, d]
        self._start = Root.of_penalty(data, eps)  # before the examples in `_taken`
        self._ahead = self._start.copy()  # after the examples in `_to_come`
        self._taken: list[torch.Tensor] = []
        self._to_come: deque[VAWStep] = deque()
        replicas, n, d = self._rows.shape
        targets = len(data.labels) // replicas
        self._w = self._rows.new_zeros(replicas, targets, d, dtype=torch.float64)
        self._products = self._w.new_zeros(replicas, targets, n)  # xᵀw of all rows
        pieces = (piece.double().square().sum(2) for piece in torch.split(self._rows, PIECE, 1))
        self._leverages = torch.cat(list(pieces), 1) / eps  # [R, n]
        self._computed = self._leverages.clone()  # leverages when they were last computed from the root
        self._exact = False
        self._seen = 0
        self._check_leverages_are_small()

    def learn(self, instances: Instances, labels: torch.Tensor) -> None:
        for x, y in one_by_one(instances, labels):
            if not self._to_come or not torch.equal(self._to_come[0].x, x):
                self._compute_steps_ahead(x)
            step = self._to_come.popleft()
            gain = (y - self._w @ x) / step.stretch  # [R, m, 1]
            self._w.baddbmm_(gain, step.image.mT)
            products = step.products.double()
            self._products.addcmul_(gain, products)
            self._leverages.addcmul_(products[:, 0], products[:, 0] / -step.stretch[:, 0])
            self._taken.append(x)
            self._seen += 1
            if not self._exact:
                self._compute_leverages()
                self._check_leverages_are_small()

    def _check_leverages_are_small(self) -> None:
        """Set `_exact`: whether leverages are small enough to be updated without loss of precision."""
        self._exact = bool(self._computed.amax() <= LARGE)

    def _compute_steps_ahead(self, x: torch.Tensor) -> None:
        """Compute the `VAWStep` of the instance x, and store it in `_to_come`.

        If x is the first row that has not been seen, and leverages are small, also store the steps of the
        rows after x.
        """
        self._start, self._taken = self._present_root(), []
        self._ahead = self._start.copy()
        count = AHEAD if self._exact else 1
        rows = self._rows[:, self._seen : self._seen + count].double()
        if not rows.shape[1] or not torch.equal(rows[:, 0, :, None], x):
            rows = x.mT
        images, stretches = self._ahead.add(rows)
        products = torch.split(self._products_with_rows(images.mT), 1, 1)
        steps = zip(
            rows[..., None].unbind(1),
            torch.split(images, 1, 2),
            torch.split(stretches, 1, 2),
            products,
            strict=True,
        )
        self._to_come = deque(VAWStep(*step) for step in steps)

    def _products_with_rows(self, images: torch.Tensor) -> torch.Tensor:
        """Return the inner products [R, b, n] of all rows with vectors P x [R, b, d] of b instances."""
        if self._rows.dtype == torch.float32 and self._leverages.amax() <= SMALL:
            return with_rows(images.float(), self._rows)
        return torch.cat([images @ piece.double().mT for piece in torch.split(self._rows, PIECE, 1)], 2)

    def _present_root(self) -> Root:
        """Return the square root of P = A⁻¹ for the examples seen."""
        if not self._to_come:
            return self._ahead
        root = self._start.copy()
        if self._taken:
            root.add(torch.cat(self._taken, 2).mT)
        return root

    def _compute_leverages(self) -> None:
        """Recompute leverages that have become so small that updates by differences would be inexact."""
        lost = (self._computed > LARGE * (1 + self._leverages)).any(0)
        if lost.any():
            rows = self._rows[:, lost].double()
            self._leverages[:, lost] = self._computed[:, lost] = self._present_root().leverages(rows)

    def predict(self, instances: Instances) -> torch.Tensor:
        if instances.rows is self._rows:
            products, leverages = self._products, self._leverages
        else:
            rows = instances.rows.double()
            products, leverages = self._w @ rows.mT, self._present_root().leverages(rows)
        forecasts: torch.Tensor = products / (1 + leverages)[:, None]  # [R, m, n]
        return forecasts.to(self._rows.dtype).flatten(0, 1)

    def weights(self) -> None:
        return
