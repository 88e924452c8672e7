"""Architectures: functions of an instance, and how they start."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.lazy import torch
from engine.parts import Part, Verdict
from engine.problems.instances import Instances
from engine.streams import Stream

Params = dict[str, "torch.Tensor"]
"""The trained tensors by name; the first dimension of each is the batch B = replicas × targets."""

Start = dict[str, NDArray[np.float64]]
"""Starting values by name; the first dimension of each is the replica."""


class Architecture(Part, frozen=True):
    """A parametrised function of an instance x ∈ ℝ^d."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the trained tensors, input layer first."""
        raise NotImplementedError

    def start(self, stream: Stream, d: int) -> Start:
        """Starting values for d features, one draw per replica."""
        raise NotImplementedError

    def size(self, d: int) -> int:
        """The number of trained numbers for d features."""
        raise NotImplementedError

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        """Predictions [B, n]."""
        raise NotImplementedError

    def weights(self, params: Params) -> torch.Tensor | None:
        """The vector w [B, d] with prediction xᵀw, or None if predictions are not linear in x."""
        return None

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        """Gradients of the loss summed over the instances; `slope` gives ∂L/∂ŷ [B, n] at predictions [B, n].

        Members of the batch are independent, so one backward pass of the sum serves them all.
        """
        leaves = {name: value.detach().requires_grad_() for name, value in params.items()}
        with torch.enable_grad():
            predictions = self.predict(leaves, instances)
        gradients = torch.autograd.grad(
            predictions, list(leaves.values()), grad_outputs=slope(predictions.detach())
        )
        return dict(zip(leaves, gradients, strict=True))

    def rotated(self, params: Params, rotation: torch.Tensor) -> Params:
        """The start that corresponds to `params` when every instance x becomes U x, `rotation` U [d, d].

        For a random start with a rotation-invariant law this couples the two starts; a start that is the same
        whatever the instances are stays as it is.
        """
        return params

    def invariance(self) -> Verdict:
        """Whether function and start treat all rotations of the instances alike, and why."""
        raise NotImplementedError
