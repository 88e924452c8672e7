"""Gradient descent in which the rate of each weight is proportional to the weight."""

from __future__ import annotations

from engine.architectures import Architecture
from engine.core.groups import PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import (
    Mirror,
    MultiplicativeStep,
    Rate,
    Rates,
    State,
    Update,
    UpdateStructure,
    Weight,
    even,
    only_linear,
)


class PrivateRates(Update, frozen=True, tag="private-rates"):
    """Gradient descent with a private rate η w_i for each weight: w ← w − η w ⊙ g, from w = w₀ (default 1/d).

    To first order in η, the rule equals EGU, w ← w ⊙ exp(−η g). Weights stay positive while η g_i < 1.
    Source: KW97 (where it is called the approximated EG); the talk on WKA21, "sufficient/insufficient
    conditions"; theory/conventions#update-rules.
    """

    lr: Rate = 0.125
    w0: Weight = None

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="multiplicative", by_operators=True, layerwise=True)

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return even(params, self.w0), {}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return {layer: w - rates[layer] * w * gradients[layer] for layer, w in params.items()}, state

    @property
    def mirror(self) -> Mirror:
        return Mirror(
            lambda params, _: {layer: torch.log(w) for layer, w in params.items()},
            lambda dual: {layer: torch.exp(theta) for layer, theta in dual.items()},
        )

    def multiplicative_step(self, architecture: Architecture) -> MultiplicativeStep | None:
        return MultiplicativeStep(exponential=False)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "the rate of every weight is proportional to this weight, so steps depend on the coordinate axes",
            PERMUTATIONS,
        )
