"""The normalised exponentiated gradient."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.groups import PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import (
    Mirror,
    Rate,
    Rates,
    State,
    Update,
    UpdateStructure,
    descended,
    even,
    only_linear,
    zeros,
)


class EG(Update, frozen=True, tag="eg"):
    """Exponentiated gradient: w ← U · w ⊙ exp(−η g) / Σ_i w_i exp(−η g_i), from w = U/d.

    The weights are positive and always sum to U, the field `total`. They equal U softmax(θ), where θ ← θ − η
    g. Source: KW97; theory/conventions#update-rules.
    """

    lr: Rate = 0.05
    total: Annotated[float, Meta(gt=0, title="total U", description="the sum of the weights")] = 1.0

    def structure(self) -> UpdateStructure:
        return (
            super().structure()._replace(learner_kind="multiplicative", weights_of_state=True, layerwise=True)
        )

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return even(params, total=self.total), {"theta": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        theta = descended(state["theta"], gradients, rates)
        return self._weights(theta), {"theta": theta}

    def _weights(self, theta: Params) -> Params:
        return {layer: self.total * torch.softmax(z, dim=-1) for layer, z in theta.items()}

    @property
    def mirror(self) -> Mirror:
        return Mirror(lambda _, state: state["theta"], self._weights)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "every weight is multiplied by a separate factor, so steps depend on the coordinate axes",
            PERMUTATIONS,
        )
