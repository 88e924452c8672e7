"""What a prediction costs and how the cost changes: a loss, or a loss of clipped predictions."""

from __future__ import annotations

from typing import Protocol

from engine.lazy import torch


class Cost(Protocol):
    """What training and measuring need of a loss."""

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """L(ŷ, y), elementwise."""

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """∂L(ŷ, y)/∂ŷ, elementwise."""


class Clipped:
    """A loss after predictions were cut to [0, `most`], in value and slope alike.

    The slope is that of the loss at the clipped prediction, as in the algorithms of AW20; it is no derivative
    of the clipped loss, which is flat outside.
    """

    def __init__(self, loss: Cost, most: float) -> None:
        self._loss, self._most = loss, most

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.value(predictions.clamp(0.0, self._most), labels)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.slope(predictions.clamp(0.0, self._most), labels)
