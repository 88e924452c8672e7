"""LARS."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import (
    Rate,
    Rates,
    State,
    Update,
    UpdateStructure,
    descended,
    norms,
    with_direction,
    zeros,
)


class LARS(Update, frozen=True, tag="lars"):
    """Layer-wise adaptive rates: M ← μM + G ‖W‖/‖G‖, W ← W − ηM for every layer, from M = 0.

    G is the gradient of the layer with weights W, and norms are Frobenius norms. If W = 0, the factor ‖W‖/‖G‖
    is replaced by 1, because a layer that starts at 0 would otherwise never move. The factor is also 1 if ‖G‖
    is so much smaller than in another layer that it is only a rounding error. LARS of pytorch-optimizer has
    an additional factor, its trust coefficient. Source: You, Gitman, Ginsburg 2017;
    theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.00390625
    momentum: Annotated[
        float, Meta(ge=0, lt=1, title="momentum μ", description="share of M that steps keep")
    ] = 0.9

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(learner_kind="gradient", own_start=False, layerwise=True, along_gradients=True)
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"M": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        sizes, lengths, real, M = norms(params), norms(gradients), with_direction(gradients), {}
        for layer, g in gradients.items():
            is_defined = real[layer] & (sizes[layer] > 0)
            factor = torch.where(is_defined, sizes[layer] / lengths[layer].where(is_defined, 1.0), 1.0)
            M[layer] = self.momentum * state["M"][layer] + factor * g
        return descended(params, M, rates), {"M": M}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True, "the rates depend on norms of weights and of gradients, and rotations preserve these norms"
        )
