"""A loss of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from typing import ClassVar

import torch

from engine.losses import Loss


class MyPart(Loss, frozen=True, tag="my-part"):
    """√(1 + (ŷ − y)²) − 1: about (ŷ − y)²/2 near 0, and nearly linear far away. Source: Charbonnier 1994."""

    continuous_slope: ClassVar[bool] = True

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(1 + torch.square(predictions - labels)) - 1


def naive_my_part(loss: MyPart, prediction: float, label: float) -> float:
    """Return the loss of a prediction, computed in the plainest way."""
    return float((1 + (prediction - label) ** 2) ** 0.5 - 1)
