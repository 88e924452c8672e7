"""Diagonal AdaGrad."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, ScalarStep, State, UpdateStructure


class AdaGrad(Diagonal, frozen=True, tag="adagrad"):
    """Diagonal AdaGrad: h ← h + g², w ← w − η g / √(ε + h), from h = 0.

    torch has √h + ε in place of √(ε + h). Source: Duchi, Hazan, Singer 2011; theory/conventions#update-rules.
    """

    lr: Rate = 0.03125
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to h inside the square root")] = 1e-8

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            own_start=False, by_operators=True, layerwise=True, entries_alike=not self.shared
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"h": self.no_squares(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        h = {layer: state["h"][layer] + square for layer, square in self.squares(gradients).items()}
        new = {
            layer: w - rates[layer] * gradients[layer] / torch.sqrt(self.eps + h[layer])
            for layer, w in params.items()
        }
        return new, {"h": h}

    def scalar_step(self, architecture: Architecture) -> ScalarStep | None:
        return self._scalar_step if architecture.structure().trains_weights else None

    def _scalar_step(
        self, slope: torch.Tensor, rate: float | torch.Tensor, memory: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        squares = memory + (slope * slope).cumsum(0)
        return rate * slope / (self.eps + squares) ** 0.5, squares[-1]

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
