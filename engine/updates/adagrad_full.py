"""Full-matrix AdaGrad."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, as_matrix, identities


class AdaGradFull(Update, frozen=True, tag="adagrad-full"):
    """Full-matrix AdaGrad: A ← A + g gᵀ, w ← w − η A^(−1/2) g, from A = ε I.

    A weight matrix W [h, d] with gradient G has one matrix A [d, d] for its inputs: A ← A + GᵀG, W ← W − η G
    A^(−1/2). The rule is rotation invariant: if every instance x becomes Ux, then G becomes GUᵀ and A becomes
    UAUᵀ, so W becomes WUᵀ. Each step requires an eigendecomposition in float64, O(d³). Source: Duchi, Hazan,
    Singer 2011; theory/conventions#update-rules.
    """

    lr: Rate = 0.0884
    eps: Annotated[float, Meta(gt=0, title="ε", description="A starts at ε I")] = 0.01

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(
                learner_kind="spectral", own_start=False, matrices=5, layerwise=True, along_gradients=True
            )
        )

    def start(self, params: Params) -> tuple[Params, State]:
        return params, {"A": identities(params, self.eps)}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        new, total = {}, {}
        for layer, w in params.items():
            G = as_matrix(gradients[layer]).double()  # [B, h, d]
            total[layer] = state["A"][layer] + G.mT @ G
            finite = total[layer].isfinite().all((1, 2))[:, None, None]  # False once a learner has diverged
            size, axes = torch.linalg.eigh(total[layer].where(finite, 0.0))  # A = axes · diag(size) · axesᵀ
            roots = size.clamp(min=self.eps).rsqrt()  # eigenvalues of A are at least ε, up to rounding
            move = ((G @ axes * roots[:, None]) @ axes.mT).where(finite, torch.nan)
            new[layer] = w - rates[layer] * move.to(w.dtype).view_as(w)
        return new, {"A": total}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True,
            "rotating the instances rotates the gradient g and A = εI + Σ ggᵀ, "
            "so the step A^(−1/2) g rotates, too",
        )
