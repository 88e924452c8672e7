"""The logistic loss."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.losses import Loss


class Logistic(Loss, frozen=True, tag="logistic"):
    """Logistic loss ln(1 + e^(−y ŷ)) for labels ±1, with slope −y σ(−y ŷ).

    The expected loss on a random sign is at least c = ln 2, and lower bounds on the loss are multiples of c.
    Source: theory/conventions#losses.
    """

    continuous_slope: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    constant: ClassVar[float | None] = math.log(2.0)
    labels: ClassVar[Values] = "signs"

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.softplus(-labels * predictions)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return -labels * torch.sigmoid(-labels * predictions)
