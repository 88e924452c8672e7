"""Exact posterior of a deep linear net with Gaussian weights, given noiseless examples.

The net predicts θᵀx, θ = W^(L+1) … W¹ ∈ ℝ^d, with weights N(0, σ²/fan-in). Under the prior, the direction of
θ is uniform. The length R of θ has the Mellin transform E R^z = σ^(z(L+1)) ∏(2/n)^(z/2) Γ((n+z)/2)/Γ(n/2).
The product is over the fan-ins n of all layers. P noiseless examples determine the component θ* of θ in their
span. The component orthogonal to this span has a uniform direction in m = d − P dimensions. Its length t has
a density proportional to t^(m−1) p(R)/R^(d−1), with R² = ‖θ*‖² + t² and the density p of R under the prior.
Source: Hanin, Zlokapa 2023; theory/regions-and-random-matrices#bayesian-interpolation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODES, WAVES, REACH = 200, 301, 12.0
"""Number of quadrature nodes for x = ln R, number of nodes along the line in the complex plane, and the
half-width of both ranges in standard deviations.
"""

ROUNDING = 1e-13
"""Relative rounding error. The bisection for the saddle point stops at a bracket of 1000 times this relative
width.
"""


class DeepPrior(NamedTuple):
    """Gaussian prior of the weights of a deep linear net with `depth` hidden layers of `width` units.

    Each weight has the variance `variance`/fan-in.
    """

    depth: int
    width: int
    variance: float

    def cumulants(self, z: Any, d: int, order: int = 0) -> Any:
        """Return ln E R^z under the prior, or the first or second derivative of ln E R^z with respect to z.

        R is the length of θ [d], and the net predicts θᵀx. `z` is a number or an array. `order` is the order
        of the derivative, or 0 for ln E R^z itself.
        """
        from scipy.special import digamma, loggamma, polygamma  # type: ignore[import-untyped]

        total = z * (self.depth + 1) * math.log(self.variance) / 2
        if order:
            total = (self.depth + 1) * math.log(self.variance) / 2 if order == 1 else 0.0
        for units, layers in ((self.width, self.depth), (d, 1)):
            if order == 0:
                of_layer = loggamma((units + z) / 2) - math.lgamma(units / 2) + z / 2 * math.log(2 / units)
            elif order == 1:
                of_layer = (digamma((units + z) / 2) + math.log(2 / units)) / 2
            else:
                of_layer = polygamma(1, (units + z) / 2) / 4
            total = total + layers * of_layer
        return total


class Posterior(NamedTuple):
    """Properties of the posterior of a deep linear net, which predicts θᵀx, given examples.

    θ_⊥ is the component of θ that is orthogonal to all examples. The examples do not determine this
    component.
    """

    spread: float
    """Posterior mean of ‖θ_⊥‖²."""

    log_evidence: float
    """Logarithm of the prior density of the P coordinates of θ in the span of the examples, evaluated at the
    values that the examples determine.
    """


def posterior(prior: DeepPrior, d: int, count: int, norm: float) -> Posterior:
    """Return the posterior of a deep linear net with d inputs, given `count` independent noiseless examples.

    The net predicts θᵀx. The shortest θ that fits the examples has the length `norm`. R is the length of θ,
    and t is the length of the component of θ that is orthogonal to the examples. Given the examples, the
    density of x = ln R is proportional to (t/R)^(m−2) R^(−P) q(x). Here q is the prior density of x, P =
    `count`, and m = d − P. q(x) e^(cx) is computed by an inverse Fourier transform: the integral of E R^z
    over complex z with real part c. The number c is the saddle point that `_saddle_point` defines.

    The formula requires m ≥ 2. For m < 2, the log evidence is NaN. The spread is 0 for m = 0, and NaN for m =
    1.
    """
    free = d - count
    if free < 2:
        return Posterior(0.0 if free == 0 else math.nan, math.nan)
    c = _saddle_point(prior, d, count, norm)
    centre, deviation = float(prior.cumulants(c, d, 1)), math.sqrt(float(prior.cumulants(c, d, 2)))
    waves = np.linspace(-REACH, REACH, WAVES)
    logs = prior.cumulants(c + 1j * waves / deviation, d) - prior.cumulants(complex(c), d)
    places, widths = _nodes_and_weights(math.log(norm) if norm > 0 else -math.inf, centre, deviation)
    turned = np.exp(logs - 1j * np.outer(places, waves / deviation))
    tilted = turned.real.sum(1) * (waves[1] - waves[0]) / (2 * np.pi * deviation)
    inside = np.exp(-2 * places) * norm**2  # ‖θ*‖²/R²
    weights = widths * tilted * (1 - inside) ** ((free - 2) / 2) * np.exp(-(count + c) * (places - centre))
    total = float(weights.sum())
    spread = float(weights @ (np.exp(2 * places) * (1 - inside))) / total
    spheres = math.lgamma(d / 2) - math.lgamma(free / 2) - count / 2 * math.log(math.pi)
    scale = float(np.real(prior.cumulants(complex(c), d))) - (count + c) * centre
    return Posterior(spread, spheres + scale + math.log(total))


def _nodes_and_weights(least: float, centre: float, deviation: float) -> tuple[Floats, Floats]:
    """Return nodes x = ln R with R > ‖θ*‖, and the weights of these nodes in an integral over x.

    R is the length of θ, and θ* is the shortest θ that fits the examples, so x ≥ `least` = ln ‖θ*‖. Consider
    the density proportional to e^(cx) times the prior density of x, with c of `posterior`. Its mean is
    `centre`, and its standard deviation is `deviation`. The nodes are dense near `least`, because the
    integrand behaves like a power of √(x − ln‖θ*‖) there.
    """
    nodes, widths = np.polynomial.legendre.leggauss(NODES)
    low, high = max(least, centre - REACH * deviation), max(least, centre) + REACH * deviation
    root = (nodes + 1) / 2
    return low + (high - low) * root**2, (high - low) * root * widths


def _saddle_point(prior: DeepPrior, d: int, count: int, norm: float) -> float:
    """Return the saddle point c of the integrand in `posterior`, found by bisection.

    The integrand is the product of q(x) e^(cx) and (t/R)^(m−2) R^(−P) e^(−cx). `posterior` defines these
    symbols. The first factor, divided by its integral over x, is a density with a mean that depends on c. The
    saddle point is the c for which the second factor is largest at this mean.
    """
    if norm == 0:
        return -float(count)
    least = -min(prior.width if prior.depth else d, d) + 1e-9

    def excess(c: float) -> float:
        square = math.exp(2 * min(float(prior.cumulants(c, d, 1)), 300.0))
        beyond = square / norm**2 - 1
        return math.inf if beyond <= 0 else (d - count - 2) / beyond - count - c

    low, high = least, 1.0
    while excess(high) > 0:
        high = 2 * high + 1
    while high - low > ROUNDING * max(1.0, abs(high)) * 1e3:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
