"""A model that is quadratic in its parameters: a linear model plus a small perturbation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.architectures import Architecture, ArchitectureStructure, Layout, Start
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import LARGEST, Count
from engine.core.streams import Stream
from engine.problems.instances import Instances


class Quadratic(Architecture, frozen=True, tag="quadratic"):
    """ŷ = (Φ(x)ᵀθ + (ε/2) θᵀΨ(x)θ)/√d with P trained numbers θ, which start at 0.

    Φ(x) = Σ_j x_j Φ_j and Ψ(x) = Σ_j x_j Ψ_j. Φ_j ∈ ℝ^P has independent entries N(0, 1/P), and Ψ_j = (A_j +
    A_jᵀ)/2 for matrices A_j with such entries. Φ and Ψ are not trained. For ε = 0, the model is linear. For ε
    > 0, its features Φ(x) + εΨ(x)θ change during training. The signed architecture `spindly` with L = 2 is
    also a quadratic model, with Φ = 0 and another start. Source: Roberts, Yaida, Hanin 2022;
    theory/curvature#quadratic-models.
    """

    epsilon: Annotated[
        float,
        Meta(
            ge=0,
            le=LARGEST,
            title="perturbation ε",
            description="size of the quadratic term; 0: a linear model",
        ),
    ] = 0.1
    parameters: Annotated[Count, Meta(title="parameters P", description="number of trained parameters θ")] = (
        30
    )

    def structure(self) -> ArchitectureStructure:
        return super().structure()._replace(learner_kind="by-rule", perturbation=self.epsilon)

    @property
    def layers(self) -> tuple[str, ...]:
        return ("theta",)

    def start(self, stream: Stream, d: int) -> Start:
        size = self.parameters
        features = stream.normal(size, d) / math.sqrt(size)
        matrices = stream.normal(d, size, size) / math.sqrt(size)
        symmetric = (matrices + np.swapaxes(matrices, -1, -2)) / 2
        return {"theta": np.zeros((stream.replicas, size)), "Phi": features, "Psi": symmetric}

    def layout(self, d: int) -> Layout:
        size = self.parameters
        return Layout({"theta": (size,), "Phi": (size, d), "Psi": (d, size, size)})

    def predict(self, params: Params, instances: Instances) -> torch.Tensor:
        return instances.products(self.weights(params))

    def weights(self, params: Params) -> torch.Tensor:
        return self._effective_weights(params, self._half_feature_gradients(params))

    def gradient(
        self, params: Params, instances: Instances, slope: Callable[[torch.Tensor], torch.Tensor]
    ) -> Params:
        features, moved = params["Phi"].mT, self._half_feature_gradients(params)  # [B, d, P]
        slopes = slope(instances.products(self._effective_weights(params, moved)))
        by_weight = (instances.combine(slopes) / math.sqrt(features.shape[1])).unsqueeze(1)
        gradients = torch.baddbmm(torch.bmm(by_weight, features), by_weight, moved, alpha=self.epsilon)
        return {"theta": gradients.squeeze(1)}

    def _effective_weights(self, params: Params, moved: torch.Tensor) -> torch.Tensor:
        """Return w [B, d] with predictions xᵀw. `moved` comes from `_half_feature_gradients`."""
        features, theta = params["Phi"].mT, params["theta"].unsqueeze(2)
        weights = torch.baddbmm(torch.bmm(features, theta), moved, theta, alpha=self.epsilon / 2)
        return weights.squeeze(2) / math.sqrt(features.shape[1])

    def _half_feature_gradients(self, params: Params) -> torch.Tensor:
        """Return Ψ_jθ, half of the gradient of θᵀΨ_jθ, for every feature j, [B, d, P]."""
        matrices = params["Psi"]
        # One product with all rows of all matrices, because torch would multiply small matrices one by one.
        # For small tensors, `bmm` takes half as long as `@`.
        return torch.bmm(matrices.flatten(1, 2), params["theta"].unsqueeze(2)).view(matrices.shape[:3])
