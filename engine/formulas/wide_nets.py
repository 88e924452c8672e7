"""Signals of fully connected nets at their start, for one input: infinite width, and corrections of width n.

Given layer l, the signals of layer l + 1 are independent N(0, C_b + V_l) with V_l = C_w · mean σ(z^l)², whose
mean is over the units of layer l. In infinitely wide nets V_l is a number. Source: RYH ch. 2, 5;
theory-nets.md §24.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Transfer = Callable[[Floats], Floats]
"""A transfer function σ, or its slope σ′, of many numbers."""

NODES = 200
"""Nodes of Gauss–Hermite quadrature; an even number, so that none lies on a kink at 0."""


def gaussian_mean(function: Transfer, variance: float) -> float:
    """Return E f(z) for z ~ N(0, variance), by NODES nodes."""
    places, weights = _quadrature()
    return float(weights @ function(math.sqrt(variance) * places))


def layer_variances(transfer: Transfer, first: float, cw: Sequence[float], cb: Sequence[float]) -> Floats:
    """Return V_l = C_w E σ(z^l)² for the hidden layers l = 1 … L, with z^{l+1} ~ N(0, C_b + V_l).

    Args:
        first: variance of the signals z¹ of the first layer, C_b + C_w ‖x‖²/d.
        cw: C_w of the layer after layer l, [L].
        cb: its C_b, [L].
    """
    variances, variance = [], first
    for weights, biases in zip(cw, cb, strict=True):
        variances.append(weights * gaussian_mean(lambda z: transfer(z) ** 2, variance))
        variance = biases + variances[-1]
    return np.array(variances)


def chi_perp(slope: Transfer, cw: float, variance: float) -> float:
    """Return χ⊥ = C_w E σ′(z)², the factor of the distance of two near inputs; 1 is the critical line.

    Args:
        slope: σ′.
    """
    return cw * gaussian_mean(lambda z: slope(z) ** 2, variance)


def spread(transfer: Transfer) -> float:
    """Return the variance of σ(z)² relative to its squared mean: 5 for ReLU, 2 for the identity.

    It is the same for every K if σ is positively homogeneous.
    """
    mean = gaussian_mean(lambda z: transfer(z) ** 2, 1.0)
    return gaussian_mean(lambda z: transfer(z) ** 4, 1.0) / mean**2 - 1


def log_moments(transfer: Transfer, widths: Sequence[int]) -> tuple[Floats, Floats]:
    """Return mean and variance of log V_l − log E V_l for l = 1 … L hidden layers of these widths, [L] each.

    They are of first order in 1/n, for positively homogeneous σ without biases: every layer multiplies V by
    an independent mean of n numbers. −5l/(2n) and 5l/n for ReLU; −l/n and 2l/n for the identity.
    """
    variances = spread(transfer) * np.cumsum(1 / np.asarray(widths, float))
    return -variances / 2, variances


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights of the mean over N(0, 1)."""
    from scipy.special import roots_hermitenorm  # type: ignore[import-untyped]

    places, weights = roots_hermitenorm(NODES)
    return places, weights / weights.sum()
