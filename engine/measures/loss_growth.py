"""The growth of the loss since the previous evaluation point."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.measures import Measure, Probe
from engine.measures.loss import AverageLoss


class LossGrowth(Measure, frozen=True, tag="loss-growth"):
    """ln(L/L′) for the average loss L over all rows, and its value L′ at the previous evaluation point.

    The measure is positive where the loss rises. If every step has an evaluation point and the largest value
    is negative, the loss falls at every step. The measure has no value at the first evaluation point.
    Averaged over targets. Unit: none. Source: CKL21; theory/curvature#edge-of-stability.
    """

    label: ClassVar[str] = "growth of the loss"

    def value(self, probe: Probe) -> torch.Tensor:
        logarithm = probe.value(AverageLoss()).double().log()
        previous = probe.last.get(self)
        probe.last[self] = logarithm
        return logarithm * torch.nan if previous is None else logarithm - previous
