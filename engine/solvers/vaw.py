"""The forecaster of Vovk, Azoury and Warmuth."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Verdict
from engine.hypotheses.hypothesis import Hypothesis
from engine.problems.data import Data
from engine.problems.instances import Instances
from engine.solvers import Solver
from engine.solvers.ridge import Recursion


class VAW(Solver, frozen=True, tag="vaw"):
    """The Vovk–Azoury–Warmuth forecaster: ridge regression that counts the instance it predicts as seen.

    After k examples a row x gets ŷ = bᵀ(A + x xᵀ)⁻¹x with A = εI + Σ_{j≤k} x_j x_jᵀ, b = Σ_{j≤k} y_j x_j.
    By Sherman and Morrison that is xᵀw/(1 + xᵀA⁻¹x) with the ridge solution w for λ = ε = `eps`: it is not
    linear in x. Example by example in float64; the leverages xᵀA⁻¹x of all rows are kept up to date, so that
    an example costs O(d² + n d). Source: Azoury, Warmuth 2001; Vovk 2001; theory.md §4.
    """

    linear_in_labels: ClassVar[bool] = True

    eps: Annotated[float, Meta(ge=1e-12, title="ε", description="A starts at εI")] = 1.0

    def begin(self, data: Data) -> Hypothesis:
        return Forecast(data, self.eps)

    def size(self, n: int, d: int) -> int:
        return d * d + 2 * n * d

    def invariance(self) -> Verdict:
        return Verdict(True, "its predictions are made of inner products, and εI has no preferred direction")


class Forecast(Recursion):
    """The ridge solution and the images Sᵀx of all rows, whose squared lengths are the leverages."""

    def __init__(self, data: Data, eps: float) -> None:
        super().__init__(data, eps)
        self._given = data.instances.rows
        self._rows = self._given.double()  # [R, n, d]
        self._images = self._rows @ self._root

    def _shrink(self, image: torch.Tensor, along: torch.Tensor) -> None:
        super()._shrink(image, along)
        self._images.baddbmm_(self._rows @ image, along.mT, alpha=-1)

    def predict(self, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]; fast for all rows of the data."""
        known = instances.rows is self._given
        rows = self._rows if known else instances.rows.double()
        images = self._images if known else rows @ self._root
        forecasts: torch.Tensor = self._w @ rows.mT / (1 + images.square().sum(2))[:, None]  # [R, m, n]
        return forecasts.to(self._dtype).flatten(0, 1)

    def weights(self) -> None:
        """None: predictions are not linear in x."""
        return
