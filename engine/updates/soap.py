"""SOAP."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Count, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, as_matrix, descended, zeros
from engine.updates.shampoo import eigh

UNCERTAIN = 1e-9
"""Share of the largest eigenvalue below which an eigenvalue's eigenvectors are inaccurate.

Their errors in float64 are 1e-7 or more. Steps along them would have full length, so they are omitted.
"""


class SOAP(Update, frozen=True, tag="soap"):
    """SOAP: Adam in the eigenbasis of Shampoo, W ← W − η Q_L [(Q_LᵀM̂Q_R) / √(ε + V̂)] Q_Rᵀ for each layer.

    G is the gradient of the layer. L and R are running averages of GGᵀ and GᵀG with the factor β₂, and Q_L
    and Q_R are the matrices of their eigenvectors. M is the running average of G with the factor β₁. V is the
    entrywise running average of (Q_LᵀGQ_R)² with the factor β₂. M̂ and V̂ correct the bias due to the start
    at 0, as in Adam. L and R include the gradient of the current step. Steps have no components along
    eigenvectors that rounding makes inaccurate.

    `refresh` selects the variant in the authors' released code. In this variant, the first gradient moves no
    weights, and a step uses Q_L and Q_R of the previous step. After every `refresh` steps, QR decompositions
    of L Q_L and R Q_R update Q_L and Q_R. Eigenvectors of L and R for the eigenvalue 0 are arbitrary. A later
    gradient may have components along them, so steps may depend on an arbitrary choice. SOAP of
    pytorch-optimizer is this variant, with ε outside the square root and basis updates in float32. Source:
    Vyas et al. 2025; theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.01
    beta1: Annotated[float, Meta(ge=0, lt=1, title="β₁", description="share of M that steps keep")] = 0.95
    beta2: Annotated[
        float, Meta(ge=0, lt=1, title="β₂", description="share of V, L and R that steps keep")
    ] = 0.95
    eps: Annotated[float, Meta(gt=0, title="ε", description="added to V̂ inside the square root")] = 1e-8
    refresh: Annotated[
        Count | None,
        Meta(title="refresh", description="steps between updates of the bases; none: exact at every step"),
    ] = None

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(learner_kind="spectral", own_start=False, matrices=6, output_matrices=6, layerwise=True)
        )

    def start(self, params: Params) -> tuple[Params, State]:
        matrices = {layer: as_matrix(w).double() for layer, w in params.items()}
        rows = {layer: torch.zeros_like(W @ W.mT) for layer, W in matrices.items()}
        columns = {layer: torch.zeros_like(W.mT @ W) for layer, W in matrices.items()}
        return params, {
            "M": zeros(matrices),
            "V": zeros(matrices),
            "L": rows,
            "R": columns,
            "seen": {layer: W.new_zeros(len(W), 1, 1) for layer, W in matrices.items()},
            **({} if self.refresh is None else {"QL": rows, "QR": columns}),
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        moves: Params = {}
        new: State = {part: {} for part in state}
        for layer, g in gradients.items():
            before = {part: tensors[layer] for part, tensors in state.items()}
            G = as_matrix(g).double()
            move, after = (
                self._exact_direction(G, before)
                if self.refresh is None
                else self._direction_in_stored_basis(G, before)
            )
            moves[layer] = move.to(g.dtype).view_as(g)
            for part, tensor in after.items():
                new[part][layer] = tensor
        return descended(params, moves, rates), new

    def _updated_factors(self, G: torch.Tensor, state: Params) -> Params:
        return {
            "L": torch.lerp(state["L"], G @ G.mT, 1 - self.beta2),
            "R": torch.lerp(state["R"], G.mT @ G, 1 - self.beta2),
            "seen": state["seen"] + 1,
        }

    def _adam_direction(self, M: torch.Tensor, V: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        return M / (1 - self.beta1**steps) / torch.sqrt(self.eps + V / (1 - self.beta2**steps))

    def _exact_direction(self, G: torch.Tensor, state: Params) -> tuple[torch.Tensor, Params]:
        """Return the direction of a step in the exact eigenbasis of L and R, and the next state.

        L and R are averages of GGᵀ and GᵀG that include the gradient G [B, h, d] of this step.
        """
        factors = self._updated_factors(G, state)
        M = torch.lerp(state["M"], G, 1 - self.beta1)
        (left_values, QL), (right_values, QR) = eigh(factors["L"]), eigh(factors["R"])
        seen = (
            _has_accurate_eigenvector(left_values)[:, :, None]
            & _has_accurate_eigenvector(right_values)[:, None]
        )  # [B, h, d]
        V = torch.lerp(state["V"], (QL.mT @ G @ QR).square().where(seen, 0.0), 1 - self.beta2)
        inside = self._adam_direction(QL.mT @ M @ QR, V, factors["seen"]).where(seen, 0.0)
        return QL @ inside @ QR.mT, {"M": M, "V": V, **factors}

    def _direction_in_stored_basis(self, G: torch.Tensor, state: Params) -> tuple[torch.Tensor, Params]:
        """Return the direction of a step in the eigenbasis of the previous step, and the next state.

        The basis is Q_L and Q_R in `state`, and G [B, h, d] is the gradient. The next state contains the
        basis for the next step, which is updated after every `refresh` steps.
        """
        assert self.refresh is not None, "`step` asks"
        steps, QL, QR = state["seen"], state["QL"], state["QR"]  # the first G makes no step
        first, factors = steps == 0, self._updated_factors(G, state)
        M = torch.lerp(state["M"], G, 1 - self.beta1).where(~first, 0.0)
        V = torch.lerp(state["V"], (QL.mT @ G @ QR).square(), 1 - self.beta2).where(~first, 0.0)
        inside = self._adam_direction(QL.mT @ M @ QR, V, steps.clamp(min=1.0))
        move = QL @ inside @ QR.mT
        if first.any():
            QL = torch.where(first, eigh(factors["L"])[1].flip(-1), QL)
            QR = torch.where(first, eigh(factors["R"])[1].flip(-1), QR)
        if (due := ~first & (steps % self.refresh == 0)).any():
            (ordered, QL), (across, QR) = (
                _refreshed_basis(factors["L"], QL, due),
                _refreshed_basis(factors["R"], QR, due),
            )
            V = V.gather(1, ordered[:, :, None].expand_as(V)).gather(2, across[:, None].expand_as(V))
        return move, {"M": M, "V": V, **factors, "QL": QL, "QR": QR}

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self.refresh is not None:
            reason = (
                "gradients may have components along eigenvectors for the eigenvalue 0, which are arbitrary"
            )
            return Verdict(False, reason, undecided=True)
        return Verdict(True, "eigenvectors rotate with the instances, and their signs do not affect the step")


def _has_accurate_eigenvector(sizes: torch.Tensor) -> torch.Tensor:
    """Return whether each of the eigenvalues `sizes` is large enough for an accurate eigenvector, [B, d]."""
    return sizes > UNCERTAIN * sizes.amax(1, keepdim=True)


def _refreshed_basis(
    S: torch.Tensor, Q: torch.Tensor, due: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sort and update the columns q of Q, which approximate the eigenvectors of S.

    The columns are sorted by qᵀSq, largest first. The new Q is the orthogonal factor of a QR decomposition of
    S Q, with sorted columns. Return the indices [B, d] of the columns in sorted order, and the new Q. Batch
    members that are not `due` keep their order and their Q.
    """
    sizes = (Q * (S @ Q)).sum(1)
    order = torch.where(
        due[:, 0], sizes.argsort(1, descending=True), torch.arange(S.shape[1], device=S.device)
    )
    sorted_axes = Q.gather(2, order[:, None].expand_as(Q))
    images = S @ sorted_axes
    finite = images.isfinite().all((1, 2))[:, None, None]
    axes, _ = torch.linalg.qr(images.where(finite, 0.0))
    return order, torch.where(due & finite, axes, sorted_axes)
