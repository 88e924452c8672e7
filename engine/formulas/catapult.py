"""Gradient descent with large steps on a net of two layers and one example, in numbers that obey a recursion.

z = (md)^(−1/2) Σ_i v_i u_i·x with m hidden units, L = ½(z − y)² and rate γ; in the laboratory's convention
(ŷ − y)² and η = γ/2, and γλ₀ = ηS₀ for the sharpness S₀ at the start where the error is small. Source:
Lewkowycz et al. 2020; Zhu, Liu, Radhakrishnan, Belkin 2022; theory-nets.md §31.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MONOTONE_BELOW = 2.0
"""γλ₀, or ηS₀, up to which the loss of a wide net falls in every step."""

DIVERGES_FROM = 4.0
"""From here on it diverges; in between it rises, to the order of m, and falls while λ becomes smaller."""


class Recursion(NamedTuple):
    """Error and kernel after every step."""

    errors: Floats
    """r = z − y, [steps + 1]."""

    kernels: Floats
    """λ = ‖∇z‖², [steps + 1]."""


def recursion(error: float, kernel: float, target: float, share: float, rate: float, steps: int) -> Recursion:
    """r′ = r(1 − γλ + γ² q z r) and λ′ = λ + γq(γλr² − 4zr), exact for linear units.

    Args:
        error: r at the start.
        kernel: λ at the start.
        target: y.
        share: q = ‖x‖²/(md).
        rate: γ.
    """
    errors, kernels = np.empty(steps + 1), np.empty(steps + 1)
    r, lam = np.float64(error), np.float64(kernel)
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps + 1):
            errors[step], kernels[step] = r, lam
            z = r + target
            r, lam = (
                r * (1 - rate * lam + rate**2 * share * z * r),
                lam + rate * share * (rate * lam * r * r - 4 * z * r),
            )
    return Recursion(errors, kernels)


def wide_recursion(size: float, product: float, steps: int) -> Recursion:
    """The same for m → ∞ and y = 0: s = γ²qz² and κ = γλ, s′ = s(1 − κ + s)² and κ′ = κ + s(κ − 4).

    Args:
        size: s at the start, of the order 1/m.
        product: κ = γλ₀ at the start.

    Returns:
        s as errors and κ as kernels.
    """
    sizes, products = np.empty(steps + 1), np.empty(steps + 1)
    s, kappa = np.float64(size), np.float64(product)
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps + 1):
            sizes[step], products[step] = s, kappa
            s, kappa = s * (1 - kappa + s) ** 2, kappa + s * (kappa - 4)
    return Recursion(sizes, products)
