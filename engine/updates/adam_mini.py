"""Adam-mini."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, descended, steps_taken, zeros


class AdamMini(Update, frozen=True, tag="adam-mini"):
    """Adam-mini: Adam with a single v per neuron or per tensor, v ← β₂v + (1 − β₂) mean(g²).

    The mean is over the input weights of a neuron (a row of its layer), or over all weights of the layer. The
    step is w ← w − η m̂ / √(ε + v̂), as in `adam`. AdamMini of pytorch-optimizer adds ε to the square root,
    and stores m and v in float32. Source: Zhang et al. 2024; theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.0078125
    per: Annotated[
        Literal["neuron", "tensor"],
        Meta(title="rate per", description="whether each neuron or each tensor has one rate"),
    ] = "neuron"
    beta1: Annotated[float, Meta(ge=0, lt=1, title="β₁", description="share of m that steps keep")] = 0.9
    beta2: Annotated[float, Meta(ge=0, lt=1, title="β₂", description="share of v that steps keep")] = 0.999
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to v̂ inside the square root")] = 1e-8

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="coordinate", own_start=False, layerwise=True)

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {
            "m": zeros(params),
            "v": {layer: self._mean_squares(torch.zeros_like(w)) for layer, w in params.items()},
            "steps": steps_taken(params),
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        m, v, directions = {}, {}, {}
        steps = {layer: before + 1 for layer, before in state["steps"].items()}
        for layer, g in gradients.items():
            m[layer] = self.beta1 * state["m"][layer] + (1 - self.beta1) * g
            v[layer] = self.beta2 * state["v"][layer] + (1 - self.beta2) * self._mean_squares(g.square())
            mean = m[layer] / (1 - self.beta1 ** steps[layer]).to(g.dtype)
            directions[layer] = mean / torch.sqrt(
                self.eps + v[layer] / (1 - self.beta2 ** steps[layer]).to(g.dtype)
            )
        return descended(params, directions, rates), {"m": m, "v": v, "steps": steps}

    def _mean_squares(self, squares: torch.Tensor) -> torch.Tensor:
        over = tuple(range(1, squares.dim())) if self.per == "tensor" else (-1,)
        return squares.mean(over, keepdim=True)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True,
            f"all weights of a {self.per} share one rate, and rotations preserve the norms that set this "
            "rate",
        )
