"""The square loss."""

from __future__ import annotations

from typing import ClassVar

from engine.core.cost import square_lengths
from engine.core.lazy import torch
from engine.losses import Loss


class Square(Loss, frozen=True, tag="square"):
    """Square loss (ŷ − y)², without a factor ½. Its slope is 2(ŷ − y).

    The expected loss is at least c, with c = 1 on a random sign and c = ¼ on a random bit. Lower bounds on
    the loss are multiples of c. Source: theory/conventions#conventions, theory/conventions#losses.
    """

    continuous_slope: ClassVar[bool] = True
    is_square: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    constant: ClassVar[float | None] = 1.0
    bit_constant: ClassVar[float | None] = 0.25

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.square(predictions - labels)

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return square_lengths(predictions - labels) / labels.shape[-1]

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        errors = predictions - labels
        return errors + errors
