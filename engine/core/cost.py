"""Losses as training and measuring use them: the interface, and losses derived from other losses."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch

DIVERGED = 1e6
"""A replica has diverged if its loss exceeds this multiple of its initial loss, or of 1 if that is larger."""

PIECE = 1024
"""Maximum number of terms that are summed in float32.

The sums of several such pieces are added in float64.
"""


def divergence_limit(start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss [R] above which a replica has diverged, given its initial loss `start` [R].

    The limit is DIVERGED times the initial loss, or DIVERGED if the initial loss is below 1. An initial loss
    far below 1 is no useful scale, because a prediction may be close to its label by chance. Source:
    theory/conventions#diagnostics.
    """
    return DIVERGED * np.maximum(start, 1.0)


class Cost(Protocol):
    """Interface of a loss for training and measuring."""

    @property
    def bit_boundary(self) -> float:
        """Prediction ŷ at which the decision changes between the labels 0 and 1."""

    @property
    def is_square(self) -> bool:
        """Whether the loss is (ŷ − y)²."""

    @property
    def steady(self) -> bool:
        """Whether equal inputs give the same loss bit for bit, at any position in a tensor."""

    @property
    def coupled(self) -> int:
        """Number of neighbouring predictions in the batch that share a loss; 1 if each has its own."""

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return L(ŷ, y), elementwise."""

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return ∂L(ŷ, y)/∂ŷ, elementwise."""

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean of the loss L(ŷ, y) over the last dimension, in float64."""

    def relative_slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return ∂L/∂ŷ, divided by the mean loss over the last dimension."""


class Derived:
    """Base class of losses that are computed from another loss, such as `Clipped`."""

    def __init__(self, loss: Cost) -> None:
        self._loss = loss

    is_square = False

    @property
    def bit_boundary(self) -> float:
        return self._loss.bit_boundary

    @property
    def steady(self) -> bool:
        return self._loss.steady

    @property
    def coupled(self) -> int:
        return self._loss.coupled

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.value(predictions, labels)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.slope(predictions, labels)

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.average(predictions, labels)

    def relative_slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return relative(self.slope(predictions, labels), self.average(predictions, labels))


class Logarithm(Derived):
    """Loss that trains by the gradients of ln L: ∇ ln L = ∇L/L, where L is averaged over the rows.

    Values and measures are those of L.
    """

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.relative_slope(predictions, labels)


class Clipped(Derived):
    """Loss that clips predictions to [0, `largest`] before it computes value and slope.

    The slope is ∂L/∂ŷ at the clipped prediction, as in the algorithms of AW20. It is not the derivative of
    the clipped loss, which is 0 for predictions outside the interval.
    """

    def __init__(self, loss: Cost, largest: float) -> None:
        super().__init__(loss)
        self._largest = largest

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.value(predictions.clamp(0.0, self._largest), labels)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.slope(predictions.clamp(0.0, self._largest), labels)

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self._loss.average(predictions.clamp(0.0, self._largest), labels)


class Joint(Derived):
    """Loss of all m predictions for an instance together, such as the cross-entropy of m classes.

    Predictions have the shape […, B, n]. The batch B consists of blocks of m neighbouring entries: the m
    targets of one replica with one setting of the hyperparameters.
    """

    def __init__(self, loss: Cost, targets: int) -> None:
        super().__init__(loss)
        self._targets = targets

    @property
    def coupled(self) -> int:
        return self._targets

    def value(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        losses = self._loss.value(by_instance(predictions, self._targets), by_instance(labels, self._targets))
        return losses.flatten(-3, -2)

    def slope(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        slopes = self._loss.slope(by_instance(predictions, self._targets), by_instance(labels, self._targets))
        return slopes.flatten(-3, -2)

    def average(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self.value(predictions, labels).mean(-1, dtype=torch.float64)


def root_of_curvature(cost: Cost, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return √L''(ŷ, y) for every prediction, where L'' is the second derivative in ŷ; 0 where L'' < 0.

    Each prediction must have its own loss.
    """
    leaf = predictions.detach().requires_grad_()
    with torch.enable_grad():
        (slopes,) = torch.autograd.grad(cost.value(leaf, labels).sum(), leaf, create_graph=True)
        if not slopes.requires_grad:  # the loss is linear
            return torch.zeros_like(predictions)
        (curvature,) = torch.autograd.grad(slopes.sum(), leaf)
    return curvature.clamp(min=0.0).sqrt()


def relative(slopes: torch.Tensor, averages: torch.Tensor) -> torch.Tensor:
    """Divide `slopes` […, n] by the mean losses `averages` […]."""
    return slopes / averages[..., None].to(slopes.dtype)


def by_instance(tensor: torch.Tensor, targets: int) -> torch.Tensor:
    """Reshape a tensor […, B, n] to […, B/m, m, n], where m is `targets`."""
    return tensor.reshape(*tensor.shape[:-2], -1, targets, tensor.shape[-1])


def square_lengths(vectors: torch.Tensor) -> torch.Tensor:
    """Return ‖v‖² […] in float64, for vectors v […, d].

    At most PIECE squares are summed in the vectors' dtype. These sums are added in float64.
    """
    in_pieces = vectors.shape[-1] // PIECE * PIECE
    if not in_pieces:
        return _squared_lengths(torch.linalg.vector_norm(vectors, dim=-1))
    pieces = vectors[..., :in_pieces].reshape(*vectors.shape[:-1], -1, PIECE)
    lengths = _squared_lengths(torch.linalg.vector_norm(pieces, dim=-1)).sum(-1)
    if in_pieces < vectors.shape[-1]:
        lengths += _squared_lengths(torch.linalg.vector_norm(vectors[..., in_pieces:], dim=-1))
    return lengths


def _squared_lengths(lengths: torch.Tensor) -> torch.Tensor:
    return lengths.double().square()
