"""Adam."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, State, UpdateStructure, descended, steps_taken, zeros


class Adam(Diagonal, frozen=True, tag="adam"):
    """Adam: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − η m̂ / √(ε + v̂), from m = v = 0.

    At step t, m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ) correct the bias due to the start at 0. ε is inside the
    square root, whereas the paper and torch add ε to the square root. If the learner sets `decay`, the rule
    is AdamW (Loshchilov, Hutter 2019). Source: Kingma, Ba 2015; theory/conventions#update-rules.
    """

    lr: Rate = 0.0078125
    beta1: Annotated[float, Meta(ge=0, lt=1, title="β₁", description="share of m that steps keep")] = 0.9
    beta2: Annotated[float, Meta(ge=0, lt=1, title="β₂", description="share of v that steps keep")] = 0.999
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to v̂ inside the square root")] = 1e-8

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(own_start=False, layerwise=True, entries_alike=not self.shared)

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {
            "m": zeros(params),
            "v": self.no_squares(params),
            "steps": steps_taken(params),
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        directions, state = self.directions(gradients, state)
        return descended(params, directions, rates), state

    def directions(self, gradients: Params, state: State) -> tuple[Params, State]:
        """Return m̂ / √(ε + v̂) for every parameter that has a gradient, and the next state."""
        m, v, directions = {}, {}, {}
        steps = {layer: before + 1 for layer, before in state["steps"].items()}
        for layer, square in self.squares(gradients).items():
            m[layer] = self.beta1 * state["m"][layer] + (1 - self.beta1) * gradients[layer]
            v[layer] = self.beta2 * state["v"][layer] + (1 - self.beta2) * square
            mean = m[layer] / (1 - self.beta1 ** steps[layer]).to(square.dtype)
            size = torch.sqrt(self.eps + v[layer] / (1 - self.beta2 ** steps[layer]).to(square.dtype))
            directions[layer] = mean / size
        return directions, {"m": m, "v": v, "steps": steps}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
