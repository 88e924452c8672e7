"""The 0/1 error of learners of a random half-space: y = sign(w*·x) for Gaussian x in n dimensions.

All errors are limits for n dimensions and m examples as n, m → ∞, at α = m/n examples per dimension. For
finite n, the limits are most accurate with α = m/(n − 1), because n − 1 directions carry noise. The error is
arccos(R)/π for the cosine R of the angle between w and w*. Source: theory/symmetry#half-spaces.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

SHARE = 2 / math.pi
"""Share s of the variance of a label ±1 that is explained by the linear function xᵀw*, for ‖w*‖ = 1."""

NODES = 200
"""Number of quadrature nodes of an integral. Doubling this number changes the errors by less than 1e-6,
relatively.
"""

WIDEST = 12.0
"""Number of standard deviations beyond which a Gaussian density is negligible."""


def hebb(alpha: float) -> float:
    """Return the error of Hebb's rule w = Σ_j y_j x_j on a random half-space: arctan √(π/(2α))/π.

    `alpha` is the number of examples per dimension. Source: Vallet 1989; theory/symmetry#half-spaces.
    """
    return math.atan(math.sqrt(math.pi / (2 * alpha))) / math.pi


def least_squares(alpha: float) -> float:
    """Return the error of minimum-norm least squares on the labels ±1 of a random half-space.

    `alpha` is the number α of examples per dimension. The error is arccos(R)/π. With s = 2/π, R = √s/√(s + (1
    − s)/(α − 1)) for α > 1, and R = √s α/√(s α + (1 − s) α/(1 − α)) for α < 1. At α = 1, the error has its
    peak ½.
    """
    if alpha == 1:
        return 0.5
    over = alpha > 1
    along = math.sqrt(SHARE) * (1 if over else alpha)
    length = SHARE + (1 - SHARE) / (alpha - 1) if over else SHARE * alpha + (1 - SHARE) * alpha / (1 - alpha)
    return math.acos(along / math.sqrt(length)) / math.pi


def ridge(alpha: float) -> float:
    """Return the error of ridge regression on the labels ±1 of a random half-space.

    The penalty is the best one, λ = n(π/2 − 1) in n dimensions. `alpha` is the number of examples per
    dimension.
    """
    q = SHARE / (1 - SHARE)
    linear = 1 + alpha * q - q
    rest = 2 / (linear + math.sqrt(linear**2 + 4 * q))  # ρ: qρ² + (1 + αq − q)ρ = 1
    return math.acos(math.sqrt(1 - rest)) / math.pi


def max_margin(alpha: float) -> float:
    """Return the error of the maximum-margin classifier of a random half-space.

    `alpha` is the number α of examples per dimension. The error is arccos(R)/π, and approaches 0.5005/α for
    large α. R minimises g(κ, R) = √α √E(κ − R|z| − √(1 − R²) z′)₊² − √(1 − R²). The margin κ is the number
    for which this minimum is 0. Here z and z′ are independent and standard normal. The sum R|z| + √(1 − R²)
    z′ has the density 2 φ(u) Φ(uR/√(1 − R²)).
    """
    from scipy.optimize import brentq, minimize_scalar  # type: ignore[import-untyped]

    def best(kappa: float) -> tuple[float, float]:
        """Return the minimum over R of g(κ, R), as in `max_margin`, and arccos(R)/π at this minimum."""
        minimum = minimize_scalar(
            lambda error: _margin_objective(alpha, kappa, error),
            bounds=(0, 0.5),
            method="bounded",
            options=_EXACT,
        )
        return float(minimum.fun), float(minimum.x)

    kappa = brentq(lambda kappa: best(kappa)[0], 0, _widest_margin(alpha), xtol=1e-12)
    return best(kappa)[1]


_EXACT = {"xatol": 1e-10}


def _widest_margin(alpha: float) -> float:
    """Return an upper bound on the margin κ in `max_margin`. For few examples, κ grows like 1/√α."""
    return 3 + 2 / math.sqrt(alpha)


def _margin_objective(alpha: float, kappa: float, error: float) -> float:
    """Return g(κ, R), the function that `max_margin` minimises, at R = cos(π error)."""
    from scipy.special import ndtr  # type: ignore[import-untyped]

    cosine, sine = math.cos(math.pi * error), math.sin(math.pi * error)
    slope = cosine / max(sine, 1e-300)
    end = WIDEST / max(1.0, slope)  # beyond it Φ is 0 or 1
    short = 0.0
    for low, high in ((-end, min(kappa, end)), (end, min(kappa, WIDEST))):
        if low < high:
            u, weight = _quadrature(low, high)
            short += float((weight * (kappa - u) ** 2 * 2 * _normal_density(u) * ndtr(u * slope)).sum())
    return math.sqrt(alpha * short) - sine


def overlap(alpha: float) -> float:
    """Return q = R² of the Bayes-optimal learner of a random half-space, for the cosine R of w and w*.

    q solves q = 2α ∫ Dξ φ(t)²/Φ(t), t = ξ √(q/(1 − q)), where α is the number of examples per dimension. The
    prior of w* is uniform on the sphere. Source: Györgyi, Tishby 1990; Barbier et al. 2019.
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    def excess(odds: float) -> float:
        """Return ln(right/left side) of the equation in `overlap`, for q with ln(q/(1 − q)) = `odds`."""
        wide = math.exp(odds / 2)  # t/ξ
        end = WIDEST * min(1.0, wide)
        t, weight = _quadrature(-end, end)
        # Logarithms, because φ² and Φ both underflow for t far below 0, where their ratio grows.
        ratio = np.exp(-(t**2) - math.log(2 * math.pi) - log_ndtr(t))  # φ(t)²/Φ(t)
        right = 2 * alpha * float((ratio * _normal_density(t / wide) / wide * weight).sum())
        return math.log(right) + math.log1p(math.exp(-odds))

    # The unknown is ln(q/(1 − q)), because q may be very close to 0 or to 1.
    odds = brentq(excess, -60, 60, xtol=1e-13)
    return 1 / (1 + math.exp(-odds))


def bayes(alpha: float) -> float:
    """Return the error of the Bayes-optimal learner of a random half-space, arccos(√q)/π with q of `overlap`.

    For large α, the error approaches 0.4417/α. For every w*, no rotation-invariant learner has a smaller mean
    error. Source: as for `overlap`.
    """
    return math.acos(math.sqrt(overlap(alpha))) / math.pi


def _normal_density(u: NDArray[np.float64]) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    return density


def _quadrature(low: float, high: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights of Gauss–Legendre quadrature on [low, high]."""
    points, weights = _legendre_nodes()
    half = (high - low) / 2
    return low + half * (points + 1), half * weights


@cache
def _legendre_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.polynomial.legendre.leggauss(NODES)
