"""Losses: what a wrong prediction costs."""

from __future__ import annotations

from typing import ClassVar

from engine.lazy import torch
from engine.parts import Part


class Loss(Part, frozen=True):
    """A function L(ŷ, y) of prediction and label, elementwise."""

    constant: ClassVar[float]
    """c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)], the least cost of not knowing a sign. Source: WKA21 §3."""

    needs_signs: ClassVar[bool] = False
    """Whether labels must be +1 or −1."""

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """L(ŷ, y), elementwise."""
        raise NotImplementedError

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """∂L(ŷ, y)/∂ŷ, elementwise."""
        raise NotImplementedError
