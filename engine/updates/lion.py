"""Lion."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, descended, rounding, zeros


class Lion(Update, frozen=True, tag="lion"):
    """Lion: w ← w − η sign(β₁m + (1 − β₁)g), then m ← β₂m + (1 − β₂)g, from m = 0.

    Lion is not rotation invariant, because the sign of a sum of gradients is in general not in the span of
    the gradients. For single examples with entries ±1, the sign of one gradient is in this span, but the sign
    of a sum of gradients is not. Source: Chen et al. 2023; theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.001953125
    beta1: Annotated[
        float, Meta(ge=0, lt=1, title="β₁", description="share of m in the average whose sign is the step")
    ] = 0.9
    beta2: Annotated[float, Meta(ge=0, lt=1, title="β₂", description="share of m that steps keep")] = 0.99

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="coordinate", own_start=False, continuous=False, layerwise=True, entries_alike=True
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"m": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        mixed, m = {}, {}
        for layer, g in gradients.items():
            old = state["m"][layer]
            mixed[layer] = self.beta1 * old + (1 - self.beta1) * g
            m[layer] = self.beta2 * old + (1 - self.beta2) * g
        least = rounding({layer: v.abs() for layer, v in mixed.items()})
        signs = {layer: torch.where(v.abs() > least[layer], v.sign(), 0.0) for layer, v in mixed.items()}
        return descended(params, signs, rates), {"m": m}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False, "signs of averaged gradients depend on the coordinate axes", SIGNED_PERMUTATIONS
        )
