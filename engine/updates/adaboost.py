"""AdaBoost, as an update rule for the weights of the training examples."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.groups import PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Positive, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rates, State, Update, UpdateStructure, even, only_linear, reweighted

LARGEST_EDGE = 1 - 1e-6
"""Largest |edge| in the formula of the vote. Without it, a perfect weak hypothesis has an infinite vote."""


class AdaBoost(Update, frozen=True, tag="adaboost"):
    """AdaBoost for the weights D of the examples: D_i ← D_i exp(−α g_i)/Z with margins g_i, from D = 1/d.

    There are d training examples, and every step uses a weak hypothesis h. Z makes the weights sum to 1. The
    margin g_i of h on example i is 1 if h is right, and −1 if h is wrong. Examples and features exchange
    their roles. Feature i of an instance stands for training example i. The instance x, of entries ±1, and
    its label y stand for a weak hypothesis. On hinge loss, the entries of the gradient are the margins g_i =
    −y x_i. The edge of h is γ = Σ_i D_i g_i, and its vote is α = ½ ln((1 + γ)/(1 − γ)). After the step, the
    edge of h is 0. With a constant `vote`, the rule equals EG with this vote as the rate. The rule
    `coordinate` on exponential loss is the dual view: its weights are the votes of the weak hypotheses.
    Source: Freund, Schapire 1997; Schapire, Singer 1999; theory/conventions#update-rules.
    """

    vote: Annotated[
        Positive | None,
        Meta(title="vote α", description="vote of every weak hypothesis; none: computed from its edge"),
    ] = None

    def structure(self) -> UpdateStructure:
        return super().structure()._replace(learner_kind="multiplicative", layerwise=True)

    def refuses(self, architecture: Architecture) -> str | None:
        return only_linear(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        return even(params), {}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        new = {}
        for layer, w in params.items():
            margins = gradients[layer]
            new[layer] = reweighted(w, -self._vote_sizes(w, margins) * margins)
        return new, state

    def _vote_sizes(self, w: torch.Tensor, margins: torch.Tensor) -> float | torch.Tensor:
        if self.vote is not None:
            return self.vote
        edges = (w * margins).sum(-1, keepdim=True)
        return edges.clamp(-LARGEST_EDGE, LARGEST_EDGE).atanh()

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            False,
            "every weight is multiplied by a separate factor, so steps depend on the coordinate axes",
            PERMUTATIONS,
        )
