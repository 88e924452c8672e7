"""The cosine between the weights and the first step of sign descent."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, MeasureNeeds, Probe

ROUNDING = 64
"""Entries up to this number times machine epsilon times the largest entry count as 0, and have the sign 0."""


class SignAlignment(Measure, frozen=True, tag="sign-alignment"):
    """cos∠(w, sign(Σ_j y_j x_j)), where the sum is over the rows seen, averaged over targets.

    If weights start at 0, the first step of sign descent, Adam, RMSProp and AdaGrad on the square loss has
    the direction of these signs. For w = 0, the measure has no value. Source: Wilson, Roelofs, Stern, Srebro,
    Recht 2017; theory/automatic-descent#adaptive-fail.
    """

    label: ClassVar[str] = "cos∠(w, sign(Xᵀy))"

    def needs(self) -> MeasureNeeds:
        return MeasureNeeds(weights=True)

    def value(self, probe: Probe) -> torch.Tensor:
        data, weights = probe.data, probe.drawn_weights.double()
        sums = data.instances.combine(data.labels * probe.counts.to(data.labels))
        sums = data.instances.turn_back(sums).double()
        least = ROUNDING * torch.finfo(data.labels.dtype).eps * sums.abs().amax(1, keepdim=True)
        signs = torch.where(sums.abs() > least, sums.sign(), 0.0)
        lengths = weights.norm(dim=1) * signs.norm(dim=1)
        cosines = (weights * signs).sum(1) / lengths  # 0/0 is NaN
        return data.over_targets(cosines[None])[0]
