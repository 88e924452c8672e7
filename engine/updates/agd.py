"""Automatic gradient descent."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.params import Params, per_member
from engine.core.parts import LARGEST, SELDOM, Verdict
from engine.problems.matrices import Matrix
from engine.updates import Rates, State, Update, UpdateStructure

NEWTON = 8
"""Number of Newton steps for the exact rate. Each step doubles the number of correct digits."""


class Automatic(Update, frozen=True):
    """Base class of rules that compute their rates from the gradient norms of the layers."""

    loss_scale: Annotated[
        float,
        Meta(
            gt=0,
            le=LARGEST,
            title="loss scale c",
            description="the rate is computed from c times the loss; "
            "with m outputs, c = 1/(2m) gives half the mean square error",
            extra=SELDOM,
        ),
    ] = 1.0


class AGD(Automatic, frozen=True, tag="agd"):
    """Automatic gradient descent: W_l ← W_l − (η/L) s_l ∇_l/‖∇_l‖_F for L layers, without a rate to choose.

    Here s_l = √(d_l/d_{l−1}), G = (c/L) Σ_l s_l ‖∇_l‖_F and η = ln((1 + √(1 + 4G))/2). This η minimises the
    bound −ηG + ½(e^η − 1)² on the change of half the mean square error. Layer l has d_{l−1} inputs and d_l
    outputs. If its weights form a vector, d_l = 1. The training loss of a net with m outputs is the sum of
    the square errors of the outputs. Half the mean square error is c = 1/(2m) times the training loss.
    Weights start as the architecture sets them. In the paper, they start as semi-orthogonal matrices times
    s_l.

    With the net's `l2_penalty` λ, the bound has the additional term ½ aη². Here a = cλ d̃/L, and d̃ is the
    mean of d_l/d_{l−1}. Because η ≤ e^η − 1, the bound is at most −ηG + ½(1 + a)(e^η − 1)². The rate is the
    minimiser of this expression, η = ln((1 + √(1 + 4G/(1 + a)))/2). With `exact`, the rate is the exact
    minimiser of the bound, computed by Newton's method. Source: Bernstein et al. 2023;
    theory/automatic-descent#majoriser.
    """

    l2_penalty: Annotated[
        float,
        Meta(
            ge=0,
            le=LARGEST,
            title="L2 penalty λ",
            description="penalty that the rate takes into account; 0: none",
            extra=SELDOM,
        ),
    ] = 0.0
    exact: Annotated[
        bool,
        Meta(
            title="exact",
            description="compute the best rate with the penalty by Newton's method, not by a closed formula",
            extra=SELDOM,
        ),
    ] = False

    def structure(self) -> UpdateStructure:
        declared = super().structure()
        return declared._replace(
            learner_kind="gradient",
            automatic=None if self.l2_penalty else self.loss_scale,
            along_gradients=True,
        )

    def step(self, params: Params, gradients: Params, rates: Rates, state: State) -> tuple[Params, State]:
        return self.moved(params, gradients, rates, gradients), state

    def moved(self, params: Params, directions: Params, rates: Rates, gradients: Params) -> Params:
        """Return the weights after a step along −`directions`. The norm G of `gradients` sets the rate."""
        sizes = self._sizes(directions)
        mean_size = _mean(sizes)
        G = mean_size if gradients is directions else _mean(self._sizes(gradients))
        rate = self._rate_with_penalty(G, params)
        new = {}
        for layer, w in params.items():
            size = sizes[layer].flatten()
            # A direction that is only rounding has no meaning, and must not become a step of full length.
            real = size > 256 * torch.finfo(w.dtype).eps * mean_size
            length = torch.where(real, rate, 0.0).view_as(sizes[layer])
            new[layer] = w - rates[layer] * length / len(params) * ratio(w) * direction(directions[layer])
        return new

    def _sizes(self, gradients: Params) -> Params:
        """Return c s_l ‖∇_l‖_F of every layer, [B, 1, …]. Their mean over layers is G."""
        return {layer: self.loss_scale * ratio(g) * frobenius(g) for layer, g in gradients.items()}

    def _rate_with_penalty(self, G: torch.Tensor, params: Params) -> torch.Tensor:
        mean_ratio = sum(ratio(w) ** 2 for w in params.values()) / len(params)
        a = self.loss_scale * self.l2_penalty * mean_ratio / len(params)
        rate = automatic_rate(G / (1 + a))
        if self.exact and a > 0:
            for _ in range(NEWTON):
                grown = torch.exp(rate)
                rate = rate - (torch.expm1(rate) * grown + a * rate - G) / ((2 * grown - 1) * grown + a)
        return rate

    def invariance(self, matrix: Matrix, single: bool) -> Verdict:
        return Verdict(
            True, "the rate depends only on norms of gradients, and rotations preserve these norms"
        )


def _mean(sizes: Params) -> torch.Tensor:
    """Return the mean over layers, [B], of `sizes`: one number [B, 1, …] for each layer and batch member."""
    return torch.stack([size.flatten() for size in sizes.values()]).mean(0)


def ratio(w: torch.Tensor) -> float:
    """Return √(d_l/d_{l−1}) of a layer [B, d_l, d_{l−1}]. A vector [B, d] has one output."""
    outputs = w.shape[-2] if w.dim() > 2 else 1
    return math.sqrt(outputs / w.shape[-1])


def frobenius(g: torch.Tensor) -> torch.Tensor:
    """Return the Frobenius norm of every batch member, [B, 1, …]."""
    norms: torch.Tensor = torch.linalg.vector_norm(g.flatten(1), dim=1)
    return per_member(norms, g)


def direction(g: torch.Tensor) -> torch.Tensor:
    """Return g/‖g‖_F for every batch member, or 0 where g is 0."""
    return g / frobenius(g).clamp(min=torch.finfo(g.dtype).tiny)


def automatic_rate(G: torch.Tensor) -> torch.Tensor:
    """Return η = ln((1 + √(1 + 4G))/2), in a form that keeps all digits for small G."""
    return torch.log1p(2 * G / (1 + torch.sqrt(1 + 4 * G)))
