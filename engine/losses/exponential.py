"""The exponential loss."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.losses import Loss


class Exponential(Loss, frozen=True, tag="exponential"):
    """Exponential loss e^(−y ŷ) for labels ±1, with slope −y e^(−y ŷ).

    The expected loss on a random sign is at least c = 1, and lower bounds on the loss are multiples of c.
    Source: WKA21 §3; theory/conventions#losses.
    """

    continuous_slope: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    constant: ClassVar[float | None] = 1.0
    labels: ClassVar[Values] = "signs"

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.exp(-labels * predictions)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return -labels * torch.exp(-labels * predictions)

    def relative_slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        signs = -labels
        shares = torch.softmax(signs * predictions, -1)  # without softmax, e^(−m) underflows for m > 745
        return signs * shares * predictions.shape[-1]
