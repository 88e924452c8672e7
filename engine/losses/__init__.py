"""Losses: what a wrong prediction costs."""

from __future__ import annotations

from typing import ClassVar

from engine.core.cost import Cost, Joint, relative
from engine.core.lazy import torch
from engine.core.parts import Part, Values


class Loss(Part, frozen=True):
    """A function L(ŷ, y) of prediction and label, elementwise.

    A `joint` one is of the predictions of all targets of an instance, […, m, n] like their labels.
    """

    labels: ClassVar[Values] = "any"
    """What labels must be."""

    joint: ClassVar[bool] = False
    """Whether it is of the predictions of all targets together, which then are the classes of an instance.

    Its value is the same for all of them, so that averages over targets are those over instances; its slope
    is that of this one number.
    """

    declares: ClassVar[frozenset[str]] = frozenset(
        ("constant", "bit_constant", "continuous_slope", "is_square", "positive", "steady")
    )
    shortcuts: ClassVar[frozenset[str]] = frozenset(("slope", "average", "relative_slope"))

    continuous_slope: ClassVar[bool] = False
    """Whether its slope, as a function of its prediction alone, has no jumps."""

    positive: ClassVar[bool] = False
    """Whether it is above 0 whatever is predicted."""

    is_square: ClassVar[bool] = False
    """Whether it is (ŷ − y)²."""

    constant: ClassVar[float | None] = None
    """c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)], the least cost of not knowing a sign. Source: WKA21 §3."""

    bit_constant: ClassVar[float | None] = None
    """min_ŷ ½[L(ŷ, 0) + L(ŷ, 1)], the least cost of not knowing a bit. Source: WKA21 Thm 4."""

    bit_boundary: ClassVar[float] = 0.5
    """The prediction at which a label changes from 0 to 1; that from −1 to +1 is always 0."""

    steady: ClassVar[bool] = False
    """Whether a value is the same bits wherever in a tensor it is computed.

    Exponentials and logarithms are not: several are taken at a time, and those left over at the end are
    rounded in another way.
    """

    def of_targets(self, targets: int) -> Cost:
        """The loss of a batch of predictions [B, n] of so many targets each."""
        return Joint(self, targets) if self.joint else self

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """L(ŷ, y), elementwise."""
        raise NotImplementedError

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """∂L(ŷ, y)/∂ŷ, elementwise; at a kink, the slope of the side with the smaller loss.

        By default the derivative of `value`, as torch has it.
        """
        leaf = predictions.detach().requires_grad_()
        with torch.enable_grad():
            total = self.value(leaf, labels).sum()
        (slopes,) = torch.autograd.grad(total, leaf)
        return slopes / leaf.shape[-2] if self.joint else slopes

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """L(ŷ, y) averaged over the last dimension, in float64."""
        return self.value(predictions, labels).mean(-1, dtype=torch.float64)

    def relative_slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """∂L(ŷ, y)/∂ŷ, elementwise, over the average of L(ŷ, y) over the last dimension.

        One that falls below the smallest number, as e^(−m) does, says it in a way that does not divide by it.
        """
        return relative(self.slope(predictions, labels), self.average(predictions, labels))
