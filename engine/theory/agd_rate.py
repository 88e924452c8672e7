"""Upper bound on the smallest gradient in the first steps of automatic gradient descent."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.measures.loss import AverageLoss
from engine.theory import At, Floats, LineStructure
from engine.theory.agd_majoriser import ByDerivation


class AGDRate(ByDerivation, frozen=True, tag="agd-rate"):
    """22 ℓ′/t: upper bound on the least G² in the first t steps, for the mean square error ℓ′ at the start.

    G is the size of the gradient of the mean square error, as measured by `gradient-summary`. The loss of the
    paper is half the mean square error. At the start, this loss is ℓ = ℓ′/2, and its gradient has the size g
    = G/2. `agd-majoriser` defines φ. If the assumptions of the derivation hold, every step lowers this loss
    by φ(g), which is at least g²/11 for g ≤ 2. The loss cannot fall below 0, so the least g² is at most 11
    ℓ/t, and the least G² = 4g² is at most 22 ℓ′/t.

    The paper prints 11/t, which assumes ℓ ≤ 1. For predictions ŷ and labels y with ‖ŷ‖² = ‖y‖² = m for m
    targets, ℓ ≤ 1 if ŷ·y ≥ 0 at the start. With the sharper φ(g) ≥ g²/4.52, the bound on g² would be 4.52
    ℓ/t. Source: Bernstein et al. 2023; theory/automatic-descent#majoriser.
    """

    title: ClassVar[str] = "AGD convergence rate"
    measure: ClassVar[str] = "gradient-summary"
    formula: ClassVar[str] = "22 ℓ′/t, ℓ′: mean square error at the start, t = step + 1"

    def structure(self) -> LineStructure:
        return super().structure()._replace(running="min")

    def value(self, at: At) -> Floats:
        losses = at.measured[AverageLoss().name]
        bound: Floats = 22 * losses[:, :1] / (1 + np.arange(losses.shape[1]))
        return bound
