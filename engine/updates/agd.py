"""Automatic gradient descent."""

from __future__ import annotations

import math

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rates, State, Update


class AGD(Update, frozen=True, tag="agd"):
    """Automatic gradient descent: W_l ← W_l − (η/L) s_l ∇_l/‖∇_l‖_F over L layers, with no rate to choose.

    s_l = √(d_l/d_{l−1}), G = (1/L) Σ_l s_l ‖∇_l‖_F and η = ln((1 + √(1 + 4G))/2). A layer has d_{l−1} inputs
    and d_l outputs; a weight vector has one output. It keeps the architecture's start; that of the paper is
    semi-orthogonal times s_l. Source: Bernstein et al. 2023; theory.md §9.
    """

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        sizes = {name: ratio(g) * frobenius(g) for name, g in gradients.items()}
        by_layer = torch.stack([size.flatten() for size in sizes.values()])  # [L, B]
        G, new = by_layer.mean(0), {}
        for name, w in params.items():
            size = sizes[name].flatten()
            # A gradient that is only rounding has no direction, and must not become a step of full length.
            real = size > 256 * torch.finfo(w.dtype).eps * G
            length = torch.where(real, automatic_rate(G), 0.0).view_as(sizes[name])
            new[name] = w - rates[name] * length / len(params) * ratio(w) * direction(gradients[name])
        return new, state

    @property
    def along_gradients(self) -> bool:
        return True

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(True, "its rate depends on norms of gradients only, which rotations do not change")


def ratio(w: torch.Tensor) -> float:
    """√(d_l/d_{l−1}) of a layer [B, d_l, d_{l−1}] or of a vector [B, d], which has one output."""
    outputs = w.shape[-2] if w.dim() > 2 else 1
    return math.sqrt(outputs / w.shape[-1])


def frobenius(g: torch.Tensor) -> torch.Tensor:
    """The Frobenius norm of every member of the batch, shaped [B, 1, …] to divide g."""
    norms: torch.Tensor = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return norms.view(-1, *[1] * (g.dim() - 1))


def direction(g: torch.Tensor) -> torch.Tensor:
    """g/‖g‖_F for every member of the batch; 0 where g is 0."""
    return g / frobenius(g).clamp(min=torch.finfo(g.dtype).tiny)


def automatic_rate(G: torch.Tensor) -> torch.Tensor:
    """η = ln((1 + √(1 + 4G))/2), written so that a small G loses no digits."""
    return torch.log1p(2 * G / (1 + torch.sqrt(1 + 4 * G)))
