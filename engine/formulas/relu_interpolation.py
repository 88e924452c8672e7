"""Least cost of fitting points by nets of rectified units with one input.

The cost of f = Σ_j a_j relu(w_j x + b_j) + c is R = ½ Σ_j (a_j² + w_j²). It equals Σ_j |a_j w_j| if |a_j| =
|w_j|. Its least value over all nets of any width with this f is max(∫|f″|, |f′(−∞) + f′(∞)|). Source:
Savarese, Evron, Soudry, Srebro 2019; theory/implicit-bias#relu-interpolation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Penalised(NamedTuple):
    """Minimum of the mean squared error + λR."""

    objective: float
    norm: float
    """R of the minimiser."""

    fitted: Floats
    """Values of the minimiser at the points [m]."""


def spline(x: Floats, y: Floats, at: Floats) -> Floats:
    """Return the piecewise linear function through points x₁ < … < x_m with values y, at the places `at`.

    Its first and last piece are extended beyond the points.
    """
    if len(x) < 2:
        return np.full(at.shape, y[0])
    slopes = np.diff(y) / np.diff(x)
    piece = np.clip(np.searchsorted(x, at) - 1, 0, len(slopes) - 1)
    interpolated: Floats = y[piece] + slopes[piece] * (at - x[piece])
    return interpolated


def least_norm(x: Floats, y: Floats) -> float:
    """Return V* = max(S, (S + T)/2), the least R of a function through points x₁ < … < x_m with values y.

    S = Σ_i |s_{i+1} − s_i| and T = |s_1 + s_{m−1}| for the slopes s_i between the points. f′ takes each slope
    in turn, so that ∫|f″| ≥ S and ∫|f″| + |f′(−∞) + f′(∞)| ≥ S + T. Functions with kinks only at the points
    attain both.
    """
    if len(x) < 2:
        return 0.0
    slopes = np.diff(y) / np.diff(x)
    bends, ends = float(abs(np.diff(slopes)).sum()), float(abs(slopes[0] + slopes[-1]))
    return max(bends, (bends + ends) / 2)


def penalised(x: Floats, y: Floats, rate: float) -> Penalised:
    """Return the least value of (1/m) Σ_i (f(x_i) − y_i)² + λR over all functions f, and R of the minimiser.

    Kinks at the points suffice. So this is a Lasso over the units with these kinks, and a free constant. The
    residual z is the point nearest to y − ȳ under Σ_i z_i = 0 and |⟨z, u⟩| ≤ mλ/2 for all units u. Lawson and
    Hanson's least-distance programming finds it exactly. R follows from λR = (2/m) ⟨z, y − z⟩.

    Args:
        x: different points [m].
        y: their values [m].
        rate: λ > 0.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    m, centred = len(x), y - y.mean()
    across = x[:, None] - x
    units = np.concatenate((np.maximum(across, 0), np.maximum(-across, 0)), 1)  # [m, 2m]
    sides = np.concatenate((units, -units), 1).T
    basis = np.linalg.qr(np.concatenate((np.ones((m, 1)), np.eye(m)[:, 1:]), 1))[0][:, 1:]
    rows, bounds = (
        -sides @ basis,
        sides @ centred - m * rate / 2,
    )  # rows · w ≥ bounds for z = y − ȳ + basis · w
    system = np.concatenate((rows.T, bounds[None]))
    wanted = np.append(np.zeros(m - 1), 1.0)
    missed = system @ nnls(system, wanted, maxiter=100 * len(sides))[0] - wanted
    residual = centred - basis @ (missed[:-1] / missed[-1])
    norm = float(residual @ (centred - residual)) / (m * rate / 2)
    return Penalised(float(residual @ residual) / m + rate * norm, norm, y - residual)
