"""Upper bound on the smallest gradient in the first steps of automatic gradient descent."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.measures.loss import AverageLoss
from engine.theory import At, Floats, LineStructure
from engine.theory.agd_majoriser import ByDerivation


class AGDRate(ByDerivation, frozen=True, tag="agd-rate"):
    """22 ℓ′/t: upper bound on the least G² in the first t steps, for the mean square error ℓ′ at the start.

    G is the size of the gradient of the mean square error, as measured by `gradient-summary`. The paper uses
    half the mean square error, whose value is ℓ = ℓ′/2 at the start and whose gradient has the size G/2. So
    the bound on (G/2)² is 11 ℓ/t. If the assumptions of the derivation hold, every step lowers half the mean
    square error by φ(G) ≥ G²/11 for G ≤ 2 (`agd-majoriser` defines φ). Half the mean square error cannot fall
    below 0. The paper prints 11/t, which assumes ℓ ≤ 1. With ‖ŷ‖ = ‖y‖ per example, ℓ ≤ 1 holds if ŷ·y ≥ 0 at
    the start. With the sharper φ(G) ≥ G²/4.51, the bound would be 4.51 ℓ/t. Source: Bernstein et al. 2023;
    theory/automatic-descent#majoriser.
    """

    title: ClassVar[str] = "AGD convergence rate"
    measure: ClassVar[str] = "gradient-summary"
    formula: ClassVar[str] = "22 ℓ′/t, ℓ′: mean square at the start, t = step + 1"

    def structure(self) -> LineStructure:
        return super().structure()._replace(running="min")

    def value(self, at: At) -> Floats:
        losses = at.measured[AverageLoss().name]
        bound: Floats = 22 * losses[:, :1] / (1 + np.arange(losses.shape[1]))
        return bound
