"""Muon."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from engine.core.groups import SIGNED_PERMUTATIONS
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import (
    Rate,
    Rates,
    State,
    Update,
    UpdateStructure,
    as_matrix,
    descended,
    norms,
    with_direction,
    zeros,
)
from engine.updates.adam import Adam

QUINTIC = 3.4445, -4.7750, 2.0315
"""Coefficients a, b, c of the polynomial aσ + bσ³ + cσ⁵.

Applied repeatedly, the polynomial moves singular values σ to within about 0.3 of 1.
"""

ITERATIONS = 5


class Muon(Update, frozen=True, tag="muon"):
    """Muon: M ← μM + G, W ← W − η √max(1, h/d) O(G + μM) for a layer of h outputs and d inputs, from M = 0.

    G is the gradient of the layer. The function O sets all singular values of a matrix to about 1. With
    `newton-schulz`, O divides the matrix by its Frobenius norm and applies five steps X ← aX + (bA + cA²)X
    with A = XXᵀ, a = 3.4445, b = −4.775 and c = 2.0315. The result is an odd polynomial of the matrix. Torch
    computes the five steps in bfloat16. With `svd`, O is exactly UVᵀ for the singular vectors U and V. If the
    matrix does not have full rank, some of these vectors are arbitrary. With `hidden`, Muon moves only the
    layers between the first and the last, as the authors recommend. The first layer, the last layer and all
    biases take steps of Adam with its usual constants. Source: Jordan et al. 2024;
    theory/symmetry#modern-optimizers.
    """

    lr: Rate = 0.02
    momentum: Annotated[
        float, Meta(ge=0, lt=1, title="momentum μ", description="share of M that steps keep")
    ] = 0.95
    by: Annotated[
        Literal["newton-schulz", "svd"],
        Meta(title="method", description="method that sets all singular values to 1"),
    ] = "newton-schulz"
    hidden: Annotated[
        bool, Meta(title="hidden layers only", description="the first and the last layer take steps of Adam")
    ] = False

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="spectral",
            invariance_of_vectors=self._verdict_for_vectors(),
            own_start=False,
            layerwise=True,
            along_gradients=self.by == "newton-schulz" and not self.hidden,
        )

    def start(self, params: Params) -> tuple[Params, State]:
        by_adam = self._layers_for_adam(params)
        _, state = Adam().start({layer: params[layer] for layer in by_adam})
        return params, {
            "M": zeros({layer: w for layer, w in params.items() if layer not in by_adam}),
            **state,
        }

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        by_adam = self._layers_for_adam(params)
        adams = {part: state[part] for part in state if part != "M"}
        directions, adams = Adam().directions({layer: gradients[layer] for layer in by_adam}, adams)
        M = {layer: self.momentum * old + gradients[layer] for layer, old in state["M"].items()}
        along = {layer: gradients[layer] + self.momentum * new for layer, new in M.items()}
        if along:
            directions |= self._orthogonal_directions(along)
        return descended(params, {layer: directions[layer] for layer in params}, rates), {"M": M, **adams}

    def _layers_for_adam(self, params: Params) -> list[str]:
        """Return the names of the tensors that Adam moves; none without `hidden`.

        These are the first layer, the last layer, and all tensors with one input, such as biases.
        """
        if not self.hidden:
            return []
        layers = [layer for layer, w in params.items() if w.shape[-1] > 1]
        return [layer for layer in params if layer not in layers[1:-1]]

    def _orthogonal_directions(self, along: Params) -> Params:
        """Return the direction √max(1, h/d) O(V) of a Muon step for every V [B, h, d] in `along`.

        O sets the singular values of a matrix to about 1. If V is only a rounding error, the direction is 0.
        """
        directions, lengths, real = {}, norms(along), with_direction(along)
        for layer, g in along.items():
            G = as_matrix(g / lengths[layer].where(real[layer], 1.0))
            flat = newton_schulz(G) if self.by == "newton-schulz" else orthogonal_factor(G)
            size = max(1.0, G.shape[1] / G.shape[2]) ** 0.5
            directions[layer] = torch.where(real[layer], size * flat.view_as(g), 0.0)
        return directions

    def _verdict_for_vectors(self) -> Verdict | None:
        """Return the verdict for nets whose layers are single vectors; None to use `invariance`."""
        if self.by == "newton-schulz" or self.hidden:
            return None
        return Verdict(
            True,
            "each layer is a vector, and its steps follow sums of gradients, which rotate with the instances",
        )

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        if self.hidden:
            reason = "Adam moves the first layer, and each weight of this layer has a separate rate"
            return Verdict(False, reason, SIGNED_PERMUTATIONS)
        if self.by == "svd":
            reason = "a gradient without full rank is completed by arbitrary singular vectors"
            return Verdict(False, reason, undecided=True)
        return Verdict(
            True, "an odd polynomial of the gradient rotates with the instances, as the gradient does"
        )


def newton_schulz(X: torch.Tensor) -> torch.Tensor:
    """Move the singular values of X [B, h, d] to about 1, in five steps.

    Every matrix must have the Frobenius norm 1.
    """
    wide = X if X.shape[1] <= X.shape[2] else X.mT
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        A = wide @ wide.mT
        wide = a * wide + (b * A + c * A @ A) @ wide
    return wide if X.shape[1] <= X.shape[2] else wide.mT


def orthogonal_factor(X: torch.Tensor) -> torch.Tensor:
    """Return UVᵀ of X = U diag(σ) Vᵀ [B, h, d], or NaN for matrices that are not finite."""
    finite = X.isfinite().all((1, 2))[:, None, None]
    U, _, V = torch.linalg.svd(X.where(finite, 0.0), full_matrices=False)
    factor: torch.Tensor = U @ V
    return factor.where(finite, torch.nan)
