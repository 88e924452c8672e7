"""Signals of fully connected nets at the start of training, for infinite width and for finite width n.

Given layer l, the signals of layer l + 1 are independent N(0, C_b + V_l) with V_l = C_w · mean σ(z^l)². The
mean is over the units of layer l. In infinitely wide nets, V_l is not random. Source: RYH ch. 2, 5;
theory/wide-nets#criticality.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Transfer = Callable[[Floats], Floats]
"""A transfer function σ, or its slope σ′, applied to an array of numbers."""

NODES = 200
"""Number of nodes of Gauss–Hermite quadrature. The number is even, so that no node lies on a kink at 0."""


POLAR_NODES, FARTHEST = 48, 10.0
"""Number of nodes of Gauss–Legendre quadrature for each range of angles and for the radii, and the largest
radius.

A Gaussian point of the plane lies beyond this radius with probability e⁻⁵⁰.
"""


def gaussian_mean(function: Transfer, variance: float) -> float:
    """Return E f(z) over z ~ N(0, `variance`) for a function f, by quadrature."""
    places, weights = _normal_quadrature()
    return float(weights @ function(math.sqrt(variance) * places))


def layer_variances(transfer: Transfer, first: float, cw: Sequence[float], cb: Sequence[float]) -> Floats:
    """Return V_l = C_w E σ(z^l)² of an untrained, infinitely wide net, for the hidden layers l = 1 … L.

    z^l are the signals of layer l, with z^{l+1} ~ N(0, C_b + V_l).

    Args:
        transfer: σ.
        first: variance of the signals z¹ of the first layer, C_b + C_w ‖x‖²/d.
        cw: C_w of layer l + 1, [L]: the variance of its weights times the number of a unit's inputs.
        cb: C_b of layer l + 1, [L]: the variance of its biases.
    """
    variances, variance = [], first
    for weights, biases in zip(cw, cb, strict=True):
        variances.append(weights * gaussian_mean(lambda z: transfer(z) ** 2, variance))
        variance = biases + variances[-1]
    return np.array(variances)


def chi_perp(slope: Transfer, cw: float, variance: float) -> float:
    """Return χ⊥ = C_w E σ′(z)², the factor by which a layer scales the squared distance of two nearby inputs.

    Args:
        slope: σ′.
        cw: C_w, the variance of the next layer's weights times the number of a unit's inputs.
        variance: variance of the signals z of the layer.
    """
    return cw * gaussian_mean(lambda z: slope(z) ** 2, variance)


def product_mean(transfer: Transfer, covariances: Floats) -> Floats:
    """Return E σ(z₁) σ(z₂) [P] for Gaussian signals (z₁, z₂) ~ N(0, Σ), given their covariances Σ [P, 2, 2].

    The variances must be > 0. In polar coordinates, z₁ = √Σ₁₁ r cos θ and z₂ = √Σ₂₂ r cos(θ − φ), where cos φ
    is the correlation. The density is then r e^(−r²/2)/(2π). The range of angles is divided where z₁ or z₂ is
    0. Between these angles, σ has no kink, and Gauss–Legendre quadrature converges fast.
    """
    scales = np.sqrt(covariances.diagonal(axis1=1, axis2=2))  # [P, 2]
    angle = np.arccos(np.clip(covariances[:, 0, 1] / scales.prod(1), -1, 1))[:, None]
    nodes, weights = _legendre_nodes()
    radii = FARTHEST * (nodes + 1) / 2
    of_radii = FARTHEST / 2 * weights * radii * np.exp(-(radii**2) / 2)
    total = np.zeros(len(covariances))
    for sign in (1, -1):  # the half-plane where z₁ has this sign, in two parts where z₂ has one sign
        start = -math.pi / 2 if sign > 0 else math.pi / 2
        ends = (start + 0 * angle, start + angle, start + math.pi + 0 * angle)
        for first, last in pairwise(ends):
            theta = first + (last - first) * (nodes + 1) / 2  # [P, angles]
            of_angles = (last - first) / 2 * weights
            first_signals = scales[:, 0, None, None] * np.cos(theta)[..., None] * radii
            second_signals = scales[:, 1, None, None] * np.cos(theta - angle)[..., None] * radii
            products = transfer(first_signals) * transfer(second_signals)
            total += np.einsum("par,pa,r->p", products, of_angles, of_radii)
    return total / (2 * math.pi)


def layer_correlations(transfer: Transfer, first: Floats, cw: Sequence[float], cb: Sequence[float]) -> Floats:
    """Return the correlations c_l of two inputs' signals in an untrained, infinitely wide net, [P, L].

    c_l is the correlation in layer l + 1, for l = 1 … L.

    Args:
        transfer: σ.
        first: covariances of the signals of the first layer, C_b + C_w x_aᵀx_b/d, [P, 2, 2].
        cw: C_w of layer l + 1, [L].
        cb: C_b of layer l + 1, [L].
    """
    correlations, covariances = [], first
    for weights, biases in zip(cw, cb, strict=True):
        covariances = biases + weights * _product_means(transfer, covariances)
        scales = np.sqrt(covariances.diagonal(axis1=1, axis2=2)).prod(1)
        correlations.append(covariances[:, 0, 1] / scales)
    return np.stack(correlations, -1)


def _product_means(transfer: Transfer, covariances: Floats) -> Floats:
    """Return E σ(z_a) σ(z_b) for two inputs a and b, [P, 2, 2], given the covariances of z, [P, 2, 2]."""
    # The mean of σ² is that of two equal inputs. The same nodes give them exactly the correlation 1.
    variances = covariances.diagonal(axis1=1, axis2=2)  # [P, 2]
    alike = variances[:, :, None, None] * np.ones((2, 2))
    triples = np.concatenate([alike, covariances[:, None]], 1)
    first_mean, second_mean, between = product_mean(transfer, triples.reshape(-1, 2, 2)).reshape(-1, 3).T
    return np.stack([first_mean, between, between, second_mean], -1).reshape(-1, 2, 2)


def tangent_kernels(transfer: Transfer, slope: Transfer, first: Floats, cw: Sequence[float]) -> Floats:
    """Return the tangent kernel Θ(x, x′) of an untrained, infinitely wide net without biases, [P].

    The net has the parametrisation `ntk`. Each layer changes the kernel from Θ to K + C_w E σ′(z) σ′(z′) Θ.
    Here z and z′ are the signals of a unit of the layer for the inputs x and x′. K is the covariance of the
    signals of the next layer for these inputs.

    Args:
        transfer: σ.
        slope: σ′.
        first: covariances of the signals of the first layer, C_w x_aᵀx_b/d, [P, 2, 2].
        cw: C_w of layer l + 1, [L].
    """
    covariances, kernels = first, first[:, 0, 1]
    for weights in cw:
        factors = weights * product_mean(slope, covariances)
        covariances = weights * _product_means(transfer, covariances)
        kernels = covariances[:, 0, 1] + factors * kernels
    return kernels


def spread(transfer: Transfer) -> float:
    """Return the relative variance Var σ(z)²/(E σ(z)²)² for z ~ N(0, 1).

    The result is 5 for ReLU and 2 for the identity. If σ is positively homogeneous, the result does not
    depend on the variance of z.
    """
    mean = gaussian_mean(lambda z: transfer(z) ** 2, 1.0)
    return gaussian_mean(lambda z: transfer(z) ** 4, 1.0) / mean**2 - 1


def relative_variances(transfer: Transfer, widths: Sequence[int]) -> Floats:
    """Return the relative variance Var V_l/(E V_l)² over random starts, for hidden layers l = 1 … L, [L].

    V_l is C_w times the mean of σ(z)² over the units of layer l. Given these units' signals z, V_l is the
    variance of the signals of layer l + 1. The result is exact at every width, for positively homogeneous σ
    without biases. In such nets, each layer multiplies V by an independent factor.
    """
    factors = 1 + spread(transfer) / np.asarray(widths, float)
    return np.asarray(np.cumprod(factors) - 1)


def first_order_variances(
    transfer: Transfer,
    slope: Transfer,
    incoming: Sequence[float],
    cw: Sequence[float],
    widths: Sequence[int],
) -> Floats:
    """Return the relative variance Var V_l/(E V_l)² over random starts, to first order in 1/n, [L].

    V_l is C_w times the mean of σ(z)² over the units of layer l. Given these units' signals z, C_b + V_l is
    the variance of the signals of layer l + 1.

    Args:
        transfer: σ.
        slope: σ′.
        incoming: variance K_l of the signals of layer l in infinitely wide nets, [L].
        cw: C_w of layer l + 1, [L].
        widths: number n_l of units of layer l, [L].
    """
    relative, variance = [], 0.0
    for kernel, weights, width in zip(incoming, cw, widths, strict=True):
        second = gaussian_mean(lambda z: transfer(z) ** 2, kernel)
        fourth = gaussian_mean(lambda z: transfer(z) ** 4, kernel)
        chi_parallel = weights * gaussian_mean(lambda z: z * transfer(z) * slope(z), kernel) / kernel
        variance = weights**2 * (fourth - second**2) / width + chi_parallel**2 * variance
        relative.append(variance / (weights * second) ** 2)
    return np.array(relative)


def log_moments(transfer: Transfer, widths: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the means and variances of log V_l − log E V_l for hidden layers l = 1 … L, [L] each.

    Means and variances are over random starts, and the module defines V_l. The results are approximations of
    first order in 1/n, for layers of n units with a positively homogeneous σ and no biases. In such nets,
    V_l/V_{l−1} is the mean of n independent numbers, one for each unit of layer l. For ReLU and layers of one
    width n, the mean is −5l/(2n), and the variance is 5l/n. For the identity, the mean is −l/n, and the
    variance is 2l/n.
    """
    variances = spread(transfer) * np.cumsum(1 / np.asarray(widths, float))
    return -variances / 2, variances


def exact_log_moments(halved: bool, widths: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the means and variances of log V_l − log E V_l for hidden layers l = 1 … L, [L] each.

    Means and variances are over random starts, and the module defines V_l. The net has ReLU or linear units
    and no biases. In such nets, each layer multiplies V by a constant times an independent factor χ²_B/E
    χ²_B, where B is the number of active units. For linear units, the results are exact at every width. For
    ReLU, the results leave out starts with B = 0 in some layer, at which log V is −∞. A layer of n units has
    B = 0 with probability 2⁻ⁿ.

    Args:
        halved: whether units are ReLU. For n ReLU units, B ~ Binomial(n, ½), conditioned on B > 0, but E χ²_B
            = n/2 includes B = 0. For n linear units, B = n.
    """
    moments = np.array([_log_chi_square_moments(halved, width) for width in widths])
    mean, variance = np.cumsum(moments, 0).T
    return mean, variance


@cache
def _log_chi_square_moments(halved: bool, width: int) -> tuple[float, float]:
    """Return the mean and variance of log(χ²_B/E χ²_B), with B as in `exact_log_moments`."""
    from scipy.special import gammaln, polygamma, psi  # type: ignore[import-untyped]

    freedom = np.arange(1, width + 1) if halved else np.array([width])
    # binom of scipy.stats gives the same chances, but the import of scipy.stats takes a second.
    log_counts = -gammaln(freedom + 1) - gammaln(width - freedom + 1)
    chances = np.exp(log_counts - log_counts.max())
    chances /= chances.sum()
    means = psi(freedom / 2) + math.log(2 / (width / 2 if halved else width))
    mean = float(chances @ means)
    return mean, float(chances @ (polygamma(1, freedom / 2) + np.square(means - mean)))


@cache
def _normal_quadrature() -> tuple[Floats, Floats]:
    """Return nodes and weights of a quadrature rule for expectations over N(0, 1)."""
    from scipy.special import roots_hermitenorm

    places, weights = roots_hermitenorm(NODES)
    return places, weights / weights.sum()


@cache
def _legendre_nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(POLAR_NODES)
