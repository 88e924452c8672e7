"""Hedge."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.groups import PERMUTATIONS
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rates, State, Update, UpdateStructure, even, only_linear, reweighted


class Hedge(Update, frozen=True, tag="hedge"):
    """Hedge: w_i ← w_i β^(ℓ_i) / Σ_j w_j β^(ℓ_j) for the loss ℓ_i = (1 + g_i)/2 of expert i, from w = 1/d.

    Each entry of an instance is the advice of an expert. For advice and labels ±1, the hinge loss is 1 − y ŷ,
    so g_i = −y x_i. Then the loss ℓ_i is 1 for an expert that is wrong and 0 for an expert that is right, and
    Hedge equals EG at the rate ½ ln(1/β). Source: Freund, Schapire 1997; theory/conventions#update-rules.
    """

    beta: Annotated[
        float, Meta(gt=0, lt=1, title="β", description="multiplies the weights of experts that are wrong")
    ] = 0.5

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="multiplicative", layerwise=True)

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return even(params), {}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        exponent = math.log(self.beta)
        new = {layer: reweighted(w, exponent * (1 + gradients[layer]) / 2) for layer, w in params.items()}
        return new, state

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "every weight is multiplied by a separate factor, so steps depend on the coordinate axes",
            PERMUTATIONS,
        )
