"""The cross-entropy of a softmax."""

from __future__ import annotations

from typing import ClassVar

from engine.core.lazy import torch
from engine.core.parts import Values
from engine.losses import Loss


class CrossEntropy(Loss, frozen=True, tag="cross-entropy"):
    """Softmax cross-entropy −Σ_c y_c ln p_c for the K predictions ŷ of an instance and its one-hot labels y.

    The softmax p_c = e^(ŷ_c)/Σ_b e^(ŷ_b) is part of the loss and not of the learner. The slope is ∂L/∂ŷ_c =
    p_c − y_c. Each of the K targets is a class, and the loss couples the targets. The predictions are the K
    outputs of one net, or the outputs of K nets. For example, K linear neurons with this loss are softmax
    regression. For two classes, the loss equals the logistic loss of ŷ₁ − ŷ₂. If all predictions are equal,
    the loss is ln K. Source: theory/curvature#hessian, theory/curvature#collapse.
    """

    joint: ClassVar[bool] = True
    continuous_slope: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    labels: ClassVar[Values] = "bits"

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        costs = -(labels * torch.log_softmax(predictions, -2)).sum(-2, keepdim=True)
        return costs.expand_as(predictions)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.softmax(predictions, -2) - labels
