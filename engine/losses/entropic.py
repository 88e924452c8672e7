"""The entropic loss."""

from __future__ import annotations

import math
from typing import ClassVar

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.losses import Loss


class Entropic(Loss, frozen=True, tag="entropic"):
    """Entropic loss for labels 0 and 1: the relative entropy of the label y to the probability σ(ŷ).

    L = −y ln σ(ŷ) − (1 − y) ln(1 − σ(ŷ)) = ln(1 + e^ŷ) − y ŷ, with slope σ(ŷ) − y. This is the matching loss
    of the transfer function σ. The transfer function is therefore part of the loss and not of the learner.
    The loss equals logistic loss with labels 2y − 1. The expected loss on a random bit is at least ln 2.
    Source: KW97; Helmbold, Kivinen, Warmuth 1999; theory/conventions#losses.
    """

    continuous_slope: ClassVar[bool] = True
    bit_constant: ClassVar[float | None] = math.log(2.0)
    bit_boundary: ClassVar[float] = 0.0
    labels: ClassVar[Values] = "bits"

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        # The shorter formula softplus(ŷ) − yŷ loses the digits of small losses.
        softplus = torch.nn.functional.softplus
        return labels * softplus(-predictions) + (1.0 - labels) * softplus(predictions)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(predictions) - labels
