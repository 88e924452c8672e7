"""K-FAC."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture, LayerSignals
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, as_matrix, descended, only_layers


class KFAC(Update, frozen=True, tag="kfac"):
    """K-FAC: W ← W − η (S + λI)⁻¹ G (A + λI)⁻¹ per layer, with running averages A of E aaᵀ and S of E δδᵀ.

    a is the input of a layer that computes z = Wa, and δ is the derivative ∂L/∂z of the loss of a single
    example. E is the mean over the examples of a step. G is the gradient of the layer. At step t, the
    previous averages get the weight min(1 − 1/t, β). The biases of a layer have their own A and S, as if they
    were the weights of a separate layer with the input 1. The rule is rotation invariant: if every instance x
    becomes Ux, then G becomes GUᵀ and A becomes UAUᵀ. Source: Martens, Grosse 2015;
    theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.05
    memory: Annotated[
        float, Meta(ge=0, lt=1, title="memory β", description="share of A and S that steps keep")
    ] = 0.95
    damping: Annotated[float, Meta(gt=0, title="damping λ", description="added to A and S")] = 0.01

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="spectral",
            own_start=False,
            observes="slopes",
            matrices=4,
            output_matrices=4,
            layerwise=True,
            along_gradients=True,
        )

    def refuses(self, architecture: Architecture) -> str | None:
        return only_layers(self, architecture)

    def start(self, params: Params) -> tuple[Params, State]:
        matrices = {layer: as_matrix(w).double() for layer, w in params.items()}
        return params, {
            "A": {layer: torch.zeros_like(W.mT @ W) for layer, W in matrices.items()},
            "S": {layer: torch.zeros_like(W @ W.mT) for layer, W in matrices.items()},
            "steps": {layer: W.new_zeros(len(W), 1, 1) for layer, W in matrices.items()},
        }

    def observe(self, signals: dict[str, LayerSignals], shares: torch.Tensor, state: State) -> State:
        new: State = {"A": {}, "S": {}, "steps": {}}
        for layer, (inputs, back) in signals.items():
            steps = state["steps"][layer] + 1
            share = torch.maximum(1 / steps, torch.full_like(steps, 1 - self.memory))
            weights = shares.double()[:, None]
            for part, several in (("A", inputs.double()), ("S", back.double())):
                new[part][layer] = torch.lerp(state[part][layer], (several * weights) @ several.mT, share)
            new["steps"][layer] = steps
        return new

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        directions = {}
        for layer, g in gradients.items():
            by_output = self._damped_solution(state["S"][layer], as_matrix(g).double())
            move = self._damped_solution(state["A"][layer], by_output.mT).mT
            directions[layer] = move.to(g.dtype).reshape(g.shape)
        return descended(params, directions, rates), state

    def _damped_solution(self, S: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return (S + λI)⁻¹ times `right`, or NaN where S + λI has no Cholesky factor."""
        damped = S + self.damping * torch.eye(S.shape[-1], dtype=S.dtype, device=S.device)
        factor, failed = torch.linalg.cholesky_ex(damped)
        return torch.cholesky_solve(right, factor).where(failed[:, None, None] == 0, torch.nan)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True,
            "rotating the instances rotates the gradient G and the average A of aaᵀ, but not S, "
            "so the step rotates, too",
        )
