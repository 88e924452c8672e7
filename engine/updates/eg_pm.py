"""The normalised exponentiated gradient for weights of both signs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Mirror, Rate, Rates, State, Update, UpdateStructure, descended, only_linear, zeros


class EGPM(Update, frozen=True, tag="eg-pm"):
    """EG±: w = w₊ − w₋ with w± ← U · w± ⊙ exp(∓η g) / Σ(w₊ ⊙ exp(−η g) + w₋ ⊙ exp(η g)).

    The 2d entries of w₊ and w₋ are positive, start at U/(2d), and always sum to U, the field `total`. So ‖w‖₁
    < U. Source: KW97; theory/conventions#update-rules.
    """

    lr: Rate = 0.25
    total: Annotated[float, Meta(gt=0, title="total U", description="sum of all entries of w₊ and w₋")] = 1.0

    def structure(self) -> UpdateStructure:
        return (
            super().structure()._replace(learner_kind="multiplicative", weights_of_state=True, layerwise=True)
        )

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        # w₊ and w₋ are exp(±θ) up to a common factor, so the state is only θ, half their log-ratio.
        return zeros(params), {"theta": zeros(params)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        theta = descended(state["theta"], gradients, rates)
        return self._weights(theta), {"theta": theta}

    def _weights(self, theta: Params) -> Params:
        new = {}
        for layer, z in theta.items():
            shift = z.abs().amax(-1, keepdim=True)  # keeps exp within range
            plus, minus = torch.exp(z - shift), torch.exp(-z - shift)
            new[layer] = self.total * (plus - minus) / (plus + minus).sum(-1, keepdim=True)
        return new

    @property
    def mirror(self) -> Mirror:
        return Mirror(lambda _, state: state["theta"], self._weights)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "every weight is multiplied by a separate factor, so steps depend on the coordinate axes",
            SIGNED_PERMUTATIONS,
        )
