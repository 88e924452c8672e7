"""The online Newton step."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, as_matrix, identities


class OnlineNewton(Update, frozen=True, tag="online-newton"):
    """The online Newton step: A ← A + g gᵀ, w ← w − η A⁻¹ g, from A = ε I.

    A⁻¹ is stored in float64 and updated by the Sherman–Morrison formula in O(d²). A weight matrix W [h, d]
    with gradient G has one matrix A for its inputs: A ← A + GᵀG, W ← W − η G A⁻¹. Then Woodbury's formula
    updates A⁻¹ in O(h³ + h d²). The rule is rotation invariant: if every instance x becomes Ux, then G
    becomes GUᵀ and A becomes UAUᵀ, so W becomes WUᵀ. Source: Hazan, Agarwal, Kale 2007;
    theory/conventions#update-rules.
    """

    lr: Rate = 2.0
    eps: Annotated[float, Meta(gt=0, title="ε", description="A starts at ε I")] = 1.0

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(
                learner_kind="spectral", own_start=False, matrices=3, layerwise=True, along_gradients=True
            )
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"inverse": identities(params, 1 / self.eps)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        new, inverse = {}, {}
        for layer, w in params.items():
            G, old = as_matrix(gradients[layer]).double(), state["inverse"][layer]  # [B, h, d], [B, d, d]
            seen = G @ old
            inner = seen @ G.mT  # G A⁻¹ Gᵀ [B, h, h]
            if G.shape[1] == 1:
                move = seen / (1 + inner)
            else:
                identity = torch.eye(G.shape[1], dtype=inner.dtype, device=inner.device)
                move, singular = torch.linalg.solve_ex(identity + (inner + inner.mT) / 2, seen)
                move = move.where(singular[:, None, None] == 0, torch.nan)  # singular by rounding, for huge G
            inverse[layer] = old - seen.mT @ move
            new[layer] = w - rates[layer] * move.to(w.dtype).view_as(w)  # G times the new inverse is `move`
        return new, {"inverse": inverse}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True,
            "rotating the instances rotates the gradient g and A = εI + Σ ggᵀ, "
            "so the step A⁻¹ g rotates, too",
        )
