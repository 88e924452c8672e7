"""The hinge loss."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.losses import Loss


class Hinge(Loss, frozen=True, tag="hinge"):
    """Hinge loss max(0, 1 − y ŷ) for labels ±1. Its slope is −y if y ŷ < 1, and 0 otherwise.

    If y ŷ is within √ε of 1, it counts as 1, where ε is the machine epsilon. Without this rule, rounding
    would decide whether a learner still moves after it has reached the margin 1 exactly. The expected loss on
    a random sign is at least c = 1, and lower bounds on the loss are multiples of c. Source: WKA21 §3;
    theory/conventions#losses.
    """

    steady: ClassVar[bool] = True
    constant: ClassVar[float | None] = 1.0
    labels: ClassVar[Values] = "signs"

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.relu(1.0 - labels * predictions)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        missed = labels * predictions < 1.0 - math.sqrt(torch.finfo(predictions.dtype).eps)
        return torch.where(missed, -labels, 0.0)
