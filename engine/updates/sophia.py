"""Sophia."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture, LayerSignals
from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, descended, only_layers, zeros


class Sophia(Update, frozen=True, tag="sophia"):
    """Sophia: M ← β₁M + (1 − β₁)G, w ← w − η clip(M / max(γh, δ), ±1) for each entry, from M = h = 0.

    h is a running average of the diagonal of the Gauss–Newton matrix: h ← β₂h + (1 − β₂) diag(E L''(ŷ)
    ∇ŷ∇ŷᵀ). E is the mean over the examples of the step. L'' is the second derivative of the loss with respect
    to the prediction ŷ. Here the diagonal is computed exactly at every step, whereas the paper estimates it
    every tenth step. SophiaH of pytorch-optimizer takes the same steps for γ = 1 if it is given this
    diagonal. Source: Liu et al. 2024; theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.001953125
    beta1: Annotated[float, Meta(ge=0, lt=1, title="β₁", description="share of M that steps keep")] = 0.96
    beta2: Annotated[float, Meta(ge=0, lt=1, title="β₂", description="share of h that steps keep")] = 0.99
    gamma: Annotated[
        float, Meta(gt=0, title="γ", description="factor of h; a larger factor clips fewer entries")
    ] = 0.01
    delta: Annotated[float, Meta(gt=0, title="δ", description="lower limit of the divisor of M")] = 1e-12

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(learner_kind="coordinate", own_start=False, observes="curvature", layerwise=True)
        )

    def refuses(self, architecture: Architecture) -> str | None:
        if architecture.outputs > 1:
            return f"{self.kind} requires a net with one output, and {architecture.kind} has several"
        return only_layers(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"M": zeros(params), "h": zeros(params)}

    def observe(self, signals: dict[str, LayerSignals], shares: torch.Tensor, state: State) -> State:
        h = {}
        for layer, (inputs, back) in signals.items():
            diagonal = (back.square() * shares[:, None]) @ inputs.square().mT  # [B, o, i]
            old = state["h"][layer]
            h[layer] = self.beta2 * old + (1 - self.beta2) * diagonal.view_as(old)
        return {"M": state["M"], "h": h}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        M = {
            layer: self.beta1 * old + (1 - self.beta1) * gradients[layer] for layer, old in state["M"].items()
        }
        directions = {
            layer: (mean / (self.gamma * state["h"][layer]).clamp(min=self.delta)).clamp(-1.0, 1.0)
            for layer, mean in M.items()
        }
        return descended(params, directions, rates), {"M": M, "h": state["h"]}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "each entry is divided by the curvature along its coordinate axis, and clipped separately",
            SIGNED_PERMUTATIONS,
        )
