"""LAMB."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, State, UpdateStructure, descended, norms, with_direction
from engine.updates.adam import Adam


class LAMB(Diagonal, frozen=True, tag="lamb"):
    """LAMB: Adam's step u = m̂ / √(ε + v̂), rescaled to the length of the weights, W ← W − η u ‖W‖/‖u‖.

    W are the weights of one layer. If W = 0, the factor ‖W‖/‖u‖ is replaced by 1, because a layer that starts
    at 0 would otherwise never move. The factor is also 1 if ‖m‖ is so much smaller than in another layer that
    it is only a rounding error. Lamb of pytorch-optimizer divides its step by 1 − β₁ᵗ, and clips gradients by
    norm. Source: You et al. 2020; theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.0078125
    beta1: Annotated[float, Meta(ge=0, lt=1, title="β₁", description="share of m that steps keep")] = 0.9
    beta2: Annotated[float, Meta(ge=0, lt=1, title="β₂", description="share of v that steps keep")] = 0.999
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to v̂ inside the square root")] = 1e-8

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(own_start=False, layerwise=True)

    @property
    def _adam(self) -> Adam:
        return Adam(beta1=self.beta1, beta2=self.beta2, eps=self.eps, shared=self.shared)

    def start(self, params: Params) -> tuple[Params, State]:
        return self._adam.start(params)

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        directions, state = self._adam.directions(gradients, state)
        sizes, lengths, real = norms(params), norms(directions), with_direction(state["m"])
        for layer, u in directions.items():
            is_defined = real[layer] & (sizes[layer] > 0)
            directions[layer] = u * torch.where(
                is_defined, sizes[layer] / lengths[layer].where(is_defined, 1.0), 1.0
            )
        return descended(params, directions, rates), state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
