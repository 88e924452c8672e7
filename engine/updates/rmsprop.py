"""RMSProp."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, State, UpdateStructure


class RMSProp(Diagonal, frozen=True, tag="rmsprop"):
    """RMSProp: v ← ρ v + (1 − ρ) g², w ← w − η g / √(ε + v), from v = 0.

    There is no bias correction, so the first steps are up to 1/√(1 − ρ) times as long as later steps. ε is
    inside the square root, whereas torch adds ε to the square root. Source: Tieleman, Hinton 2012;
    theory/conventions#update-rules.
    """

    lr: Rate = 0.001953125
    memory: Annotated[float, Meta(ge=0, lt=1, title="memory ρ", description="share of v that steps keep")] = (
        0.99
    )
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to v inside the square root")] = 1e-8

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(own_start=False, layerwise=True, entries_alike=not self.shared)

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"v": self.no_squares(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        v = {
            layer: self.memory * state["v"][layer] + (1 - self.memory) * square
            for layer, square in self.squares(gradients).items()
        }
        new = {
            layer: w - rates[layer] * gradients[layer] / torch.sqrt(self.eps + v[layer])
            for layer, w in params.items()
        }
        return new, {"v": v}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
