"""Diagonal AdaGrad with momentum and a decaying memory."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Diagonal, Rate, Rates, State, UpdateStructure, zeros


class AdaGradMomentum(Diagonal, frozen=True, tag="adagrad-momentum"):
    """AdaGrad with momentum and decaying memory: h ← ρ h + g², v ← μ v + g / √(ε + h), w ← w − η v.

    The rule starts from h = v = 0. With ρ = 1 and μ = 0, it equals AdaGrad. Source: the talk on WKA21,
    "AdaGrad with momentum and exponentially decaying memory on the past" (which gives no formula);
    theory/conventions#update-rules.
    """

    lr: Rate = 0.001953125
    momentum: Annotated[
        float, Meta(ge=0, lt=1, title="momentum μ", description="share of v that steps keep")
    ] = 0.9
    memory: Annotated[float, Meta(gt=0, le=1, title="memory ρ", description="share of h that steps keep")] = (
        0.99
    )
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to h inside the square root")] = 1e-8

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(own_start=False, layerwise=True, entries_alike=not self.shared)

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"h": self.no_squares(params), "v": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        h = {
            layer: self.memory * state["h"][layer] + square
            for layer, square in self.squares(gradients).items()
        }
        v = {
            layer: self.momentum * state["v"][layer] + g / torch.sqrt(self.eps + h[layer])
            for layer, g in gradients.items()
        }
        return {layer: w - rates[layer] * v[layer] for layer, w in params.items()}, {"h": h, "v": v}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return self.by_sizes(matrix, single)
