"""The Marchenko–Pastur law of the eigenvalues of XXᵀ/d, for P Gaussian rows in d dimensions and P/d → α.

The argument `ratio` is α. Source: Marchenko, Pastur 1967; theory/regions-and-random-matrices#random-matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def edges(ratio: float) -> tuple[float, float]:
    """Return the least and the largest eigenvalue of the Marchenko–Pastur law, (1 ± √α)².

    If α > 1, the law also has eigenvalues 0.
    """
    return (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2


def below(ratio: float, places: Floats) -> Floats:
    """Return the share of the Marchenko–Pastur law's eigenvalues below each number in `places`, for α ≤ 1.

    With α = `ratio`, the density is √((λ₊ − x)(x − λ₋))/(2παx) between its edges λ± = (1 ± √α)². Let r = √α
    and x = 1 + r² − 2r cos θ. Then the density of θ is (2/π) sin²θ/x. The share below x is the integral of
    this density from 0 to θ, (2/π) ((1 + r²) θ/(4r²) + sin θ/(2r) − (1 − r²)/(2r²) · φ), where φ = arctan((1
    + r)/(1 − r) · tan(θ/2)).
    """
    root = ratio**0.5
    cosine = np.clip((1 + ratio - places) / (2 * root), -1, 1)
    angle = np.arccos(cosine)
    # arctan2 has no pole at θ = π, nor at r = 1
    turned = np.arctan2((1 + root) * np.sin(angle / 2), (1 - root) * np.cos(angle / 2))
    total: Floats = (1 + ratio) * angle / (4 * ratio) + np.sin(angle) / (2 * root)
    shares: Floats = 2 / np.pi * (total - (1 - ratio) / (2 * ratio) * turned)
    return shares


def mean_density(ratio: float, ends: Floats) -> Floats:
    """Return the mean Marchenko–Pastur density in each bin between neighbouring `ends`, for α ≤ 1."""
    shares: Floats = np.diff(below(ratio, ends)) / np.diff(ends)
    return shares
