"""Limit of gradient flow on a quadratic model, to first order in the quadratic term.

The model is z_α = Φ_αᵀθ + (ε/2) θᵀΨ_αθ on n examples with labels y. From θ = 0, gradient flow on the square
loss ends at θ^F + εθ^I + O(ε²). The shapes are Φ [N, P, n], Ψ [N, n, P, P] and y [N, n], and each Ψ_α is
symmetric. The rank of Φ must be n, or large enough for a linear model to fit the labels. Source:
theory/curvature#quadratic-models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DEPENDENT = 1e-12
"""Eigenvalues of ΦᵀΦ below this share of the largest eigenvalue count as 0."""


class Modes(NamedTuple):
    """Directions in the space of labels that gradient flow on a linear model learns independently.

    The modes are the eigenvectors V of ΦᵀΦ = V Λ Vᵀ, where Φ are the features of the examples.
    """

    vectors: Floats
    """Eigenvectors V, [N, n, n]."""

    rates: Floats
    """Eigenvalues Λ, [N, n]. Eigenvalues of 0 are replaced by infinity, because their modes are never
    learned.
    """

    features: Floats
    """Features along the modes, Φ V, [N, P, n]."""

    def on_span(self, theta: Floats) -> Floats:
        """Project parameters θ [N, P] onto the span of the features Φ."""
        shares = (theta[:, None] @ self.features)[:, 0] / self.rates
        return _weighted_sums(self.features, shares)


def modes(features: Floats) -> Modes:
    """Return the modes of the linear model with features Φ [N, P, n]: the eigenvectors of ΦᵀΦ."""
    rates, vectors = np.linalg.eigh(np.swapaxes(features, 1, 2) @ features)
    is_learned = rates > DEPENDENT * rates[:, -1:]
    return Modes(vectors, np.where(is_learned, rates, np.inf), features @ vectors)


def linear_limit(linear: Modes, labels: Floats) -> Floats:
    """Return the limit θ^F [N, P] of gradient flow on the linear model, from θ = 0: Φ(ΦᵀΦ)⁻¹y."""
    return _weighted_sums(linear.features, _components(linear, labels) / linear.rates)


def first_correction(linear: Modes, matrices: Floats, labels: Floats) -> Floats:
    """Return θ^I [N, P], the first-order correction to the limit of gradient flow on the quadratic model.

    The limit is θ^F + εθ^I + O(ε²), where `linear_limit` returns θ^F, the limit of the linear model. The
    component of θ^I in the span of Φ compensates for the quadratic term of the predictions: −Φ(ΦᵀΦ)⁻¹
    ½θ^FᵀΨθ^F. The component orthogonal to the span is −∫ P_⊥ Σ_α Ψ_α θ^F_t r^F_α(t) dt. Here P_⊥ projects
    onto the orthogonal complement of the span. θ^F_t is the gradient flow of the linear model at time t, and
    r^F_α(t) is the error of θ^F_t on example α. For modes k and l of this flow, ∫(1 − e^(−λ_k t)) e^(−λ_l t)
    dt = λ_k/(λ_l (λ_k + λ_l)).
    """
    limit, parts = linear_limit(linear, labels), _components(linear, labels)
    squares = np.einsum("bp,bapq,bq->ba", limit, matrices, limit) / 2
    on_span = linear_limit(linear, -squares)
    faster, slower = linear.rates[:, :, None], linear.rates[:, None]
    pairs = parts[:, :, None] * parts[:, None] / (slower * (faster + slower))
    pushes = np.einsum("bkl,bal->bka", pairs, linear.vectors)
    movement = np.einsum("bka,bapq,bqk->bp", pushes, matrices, linear.features, optimize=True)
    return np.asarray(on_span + movement - linear.on_span(movement))


def _components(linear: Modes, labels: Floats) -> Floats:
    """Return the components Vᵀy [N, n] of the labels along the modes."""
    return np.asarray((labels[:, None] @ linear.vectors)[:, 0])


def _weighted_sums(vectors: Floats, shares: Floats) -> Floats:
    """Return Σ_k shares_k vectors_k [N, P], for `vectors` [N, P, n] and `shares` [N, n]."""
    return np.asarray((vectors @ shares[:, :, None])[:, :, 0])
