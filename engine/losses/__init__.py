"""Losses: the cost of wrong predictions."""

from __future__ import annotations

from typing import ClassVar

from engine.core.cost import Cost, Joint, relative
from engine.core.lazy import torch
from engine.core.parts import Part, Values


class Loss(Part, frozen=True):
    """A function L(ŷ, y) of prediction and label, elementwise.

    A `joint` loss depends on the predictions of all targets of an instance, […, m, n] like their labels.
    """

    labels: ClassVar[Values] = "any"
    """Labels that the loss requires."""

    joint: ClassVar[bool] = False
    """Whether the loss depends on the predictions of all targets of an instance, which are then classes.

    All targets have the same value, so that averages over targets equal averages over instances.
    """

    declares: ClassVar[frozenset[str]] = frozenset(
        ("constant", "bit_constant", "continuous_slope", "is_square", "positive", "steady")
    )
    shortcuts: ClassVar[frozenset[str]] = frozenset(("slope", "average", "relative_slope"))

    continuous_slope: ClassVar[bool] = False
    """Whether the slope is a continuous function of the prediction."""

    positive: ClassVar[bool] = False
    """Whether the loss is above 0 for every prediction."""

    is_square: ClassVar[bool] = False
    """Whether the loss is (ŷ − y)²."""

    constant: ClassVar[float | None] = None
    """c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)], the least cost of an unknown sign. Source: WKA21 §3."""

    bit_constant: ClassVar[float | None] = None
    """min_ŷ ½[L(ŷ, 0) + L(ŷ, 1)], the least cost of an unknown bit. Source: WKA21 Thm 4."""

    bit_boundary: ClassVar[float] = 0.5
    """Decision boundary between the labels 0 and 1; between −1 and +1 it is always 0."""

    steady: ClassVar[bool] = False
    """Whether a value has the same bits at every position in a tensor.

    Exponentials and logarithms do not: SIMD code computes several at a time, and the remainder at the end is
    rounded differently.
    """

    coupled: ClassVar[int] = 1
    """Number of adjacent predictions that a value depends on; for a joint loss, `of_targets` returns it."""

    def of_targets(self, targets: int) -> Cost:
        """Return the loss of a batch of predictions [B, n] with this number of targets."""
        return Joint(self, targets) if self.joint else self

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return L(ŷ, y), elementwise."""
        raise NotImplementedError

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return ∂L(ŷ, y)/∂ŷ, elementwise; at a kink, the slope of the side with the smaller loss.

        The default is the derivative of `value` by torch.
        """
        leaf = predictions.detach().requires_grad_()
        with torch.enable_grad():
            total = self.value(leaf, labels).sum()
        (slopes,) = torch.autograd.grad(total, leaf)
        return slopes / leaf.shape[-2] if self.joint else slopes

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return L(ŷ, y) averaged over the last dimension, in float64."""
        return self.value(predictions, labels).mean(-1, dtype=torch.float64)

    def relative_slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return ∂L(ŷ, y)/∂ŷ, elementwise, divided by the average of L(ŷ, y) over the last dimension.

        A loss that underflows, as e^(−m) does, overrides it to avoid the division.
        """
        return relative(self.slope(predictions, labels), self.average(predictions, labels))
