"""The loss of the Perceptron."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.losses import Loss


class Mistake(Loss, frozen=True, tag="mistake"):
    """Mistake-driven loss max(0, −y ŷ) for labels ±1. Its slope is −y after a mistake (y ŷ ≤ 0), and else 0.

    A prediction with 0 < y ŷ ≤ √ε also counts as a mistake, where ε is the machine epsilon. On orthogonal
    rows, a Perceptron predicts 0 for each new row, up to rounding. Without this tolerance, rounding would
    decide whether such a prediction is a mistake. The least expected loss on a random sign is c = 0, at ŷ =
    0. Lower bounds on the loss are multiples of c, so they are trivial. Source: Rosenblatt 1958;
    theory/conventions#update-rules.
    """

    steady: ClassVar[bool] = True
    constant: ClassVar[float | None] = 0.0
    labels: ClassVar[Values] = "signs"

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.relu(-labels * predictions)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        mistaken = labels * predictions <= math.sqrt(torch.finfo(predictions.dtype).eps)
        return torch.where(mistaken, -labels, 0.0)
