"""Mirror descent on the singular values of a matrix of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from engine.architectures import Architecture
from engine.core.groups import rotations
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Pair, Positive, Verdict, no_pair, pair_of
from engine.problems.matrices import Matrix
from engine.updates import Rate, Rates, State, Update, UpdateStructure, descended

Function = Callable[["torch.Tensor", float], "torch.Tensor"]
"""Function that maps singular values and β to new singular values."""


class Spectral(Update, frozen=True, tag="spectral"):
    """Mirror descent with the matrix hypentropy potential: Z ← Z − η G, W = P β sinh(S) Qᵀ for Z = P S Qᵀ.

    P S Qᵀ is the singular value decomposition of Z. The instances are matrices x zᵀ of two vectors x and
    z, and the field `factors` sets how many entries x and z have. The weights of a linear neuron form a
    matrix W of the same shape, row by row. The rule acts on singular values as `hypentropy` acts on
    single weights. The rule equals matrix EG±, which trains two positive definite matrices W₊ and W₋ that
    start at β/2 · I. Their difference is [[0, W], [Wᵀ, 0]]. Separate rotations of x and of z do not
    change predictions. Each step computes a singular value decomposition. Source: Ghai, Hazan, Singer
    2020; theory/hadamard#factors.
    """

    lr: Rate = 0.05
    beta: Annotated[
        Positive | None, Meta(title="β", description="scale of singular values of W; none: 1/d")
    ] = None
    factors: Pair = None

    def structure(self) -> UpdateStructure:
        return (
            super()
            .structure()
            ._replace(learner_kind="spectral", own_start=False, weights_of_state=True, layerwise=True)
        )

    def refuses(self, architecture: Architecture) -> str | None:
        if architecture.structure().trains_weights:
            return None
        return (
            f"{self.kind} arranges the weights as one matrix, so it trains only the linear neuron, "
            f"not {architecture.kind}"
        )

    def refuses_features(self, d: int) -> str | None:
        return no_pair(self.factors, d)

    def start(self, params: Params) -> tuple[Params, State]:
        dual = {
            layer: self._mapped_singular_values(w, lambda s, beta: torch.asinh(s / beta))
            for layer, w in params.items()
        }
        return params, {"dual": dual}

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        dual = descended(state["dual"], gradients, rates)
        weights = {
            layer: self._mapped_singular_values(z, lambda s, beta: beta * torch.sinh(s))
            for layer, z in dual.items()
        }
        return weights, {"dual": dual}

    def _mapped_singular_values(self, w: torch.Tensor, function: Function) -> torch.Tensor:
        """Return w after `function` has changed the singular values of its matrix; NaN if w is not finite."""
        d = w.shape[-1]
        matrices = w.view(-1, *pair_of(self.factors, d))
        sound = matrices.isfinite().flatten(1).all(1)[:, None]
        left_vectors, singular_values, right_vectors = torch.linalg.svd(
            torch.nan_to_num(matrices, 0, 0, 0), full_matrices=False
        )
        mapped = (left_vectors * function(singular_values, self.beta or 1 / d)[:, None]) @ right_vectors
        return torch.where(sound, mapped.flatten(1), torch.nan)

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        d = matrix.shape()[1]
        reason = "the rule acts on the singular values of W, and most rotations of the instances change them"
        return Verdict(False, reason, rotations(*pair_of(self.factors, d)))
