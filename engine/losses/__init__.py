"""Losses: the cost of wrong predictions."""

from __future__ import annotations

from typing import ClassVar

from engine.core.cost import Cost, Joint, relative
from engine.core.lazy import torch
from engine.core.parts import Part, Values


class Loss(Part, frozen=True):
    """Base class of losses L(ŷ, y) of a prediction and a label, computed elementwise.

    A `joint` loss depends on all m predictions of an instance. Its predictions and labels have the shape […,
    m, n].
    """

    labels: ClassVar[Values] = "any"
    """Range of labels that the loss requires."""

    joint: ClassVar[bool] = False
    """Whether the loss of an instance depends on the predictions of all its targets, which are classes.

    Its value is repeated for each target, so that averages over targets equal averages over instances.
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
    """Smallest expected loss on a random sign, c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)]. Source: WKA21 §3."""

    bit_constant: ClassVar[float | None] = None
    """Smallest expected loss on a random bit, min_ŷ ½[L(ŷ, 0) + L(ŷ, 1)]. Source: WKA21 Thm 4."""

    bit_boundary: ClassVar[float] = 0.5
    """Prediction at the decision boundary between labels 0 and 1. For labels ±1, the boundary is always 0."""

    steady: ClassVar[bool] = False
    """Whether equal inputs give bitwise equal results at every position in a tensor.

    This is not true of exponentials and logarithms. SIMD code computes several of them at a time, and other
    code, which rounds differently, computes the remaining entries at the end of the tensor.
    """

    coupled: ClassVar[int] = 1
    """Number of adjacent predictions that each value of the loss depends on.

    For a joint loss, the object that `of_targets` returns has this attribute set to the number of targets.
    """

    def of_targets(self, targets: int) -> Cost:
        """Return the loss in a form that accepts predictions [B, n] for several targets per instance.

        The targets of an instance are adjacent in the batch. If the loss is not joint, return the loss
        itself.
        """
        return Joint(self, targets) if self.joint else self

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return L(ŷ, y), elementwise."""
        raise NotImplementedError

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return ∂L(ŷ, y)/∂ŷ, elementwise.

        At a kink, the result is the slope on one side. By default, torch differentiates `value`.
        """
        leaf = predictions.detach().requires_grad_()
        with torch.enable_grad():
            total = self.value(leaf, labels).sum()
        (slopes,) = torch.autograd.grad(total, leaf)
        return slopes / leaf.shape[-2] if self.joint else slopes

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean of the loss L(ŷ, y) over the last dimension, in float64."""
        return self.value(predictions, labels).mean(-1, dtype=torch.float64)

    def relative_slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the slope ∂L(ŷ, y)/∂ŷ divided by the average loss over the last dimension.

        Losses that can underflow, such as e^(−m), override this method to avoid a division by 0.
        """
        return relative(self.slope(predictions, labels), self.average(predictions, labels))
