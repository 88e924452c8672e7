"""Least cost of fitting points by nets of ReLU units with a scalar input.

The cost of f = Σ_j a_j relu(w_j x + b_j) + c is R = ½ Σ_j (a_j² + w_j²). If |a_j| = |w_j| for all j, R equals
Σ_j |a_j w_j|. The least cost of all nets, of any width, that represent the same f is max(∫|f″|, |f′(−∞) +
f′(∞)|). Source: Savarese, Evron, Soudry, Srebro 2019; theory/implicit-bias#relu-interpolation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Penalised(NamedTuple):
    """Net of ReLU units that minimises the mean squared error plus λR.

    The docstring of the module defines the cost R.
    """

    objective: float
    norm: float
    """Cost R of this net."""

    fitted: Floats
    """Predictions of this net at the points, [m]."""


def spline(x: Floats, y: Floats, at: Floats) -> Floats:
    """Return the values at `at` of the linear spline through the points (x_i, y_i), x₁ < … < x_m.

    The first and the last piece of the spline are extended beyond the points.
    """
    if len(x) < 2:
        return np.full(at.shape, y[0])
    slopes = np.diff(y) / np.diff(x)
    piece = np.clip(np.searchsorted(x, at) - 1, 0, len(slopes) - 1)
    interpolated: Floats = y[piece] + slopes[piece] * (at - x[piece])
    return interpolated


def least_norm(x: Floats, y: Floats) -> float:
    """Return V* = max(S, (S + T)/2), the least cost R of a net of ReLU units through the points (x_i, y_i).

    The module defines R. The points are ordered, x₁ < … < x_m. S = Σ_i |s_{i+1} − s_i| and T = |s_1 +
    s_{m−1}| for the slopes s_i between neighbouring points. For any net f through the points, f′ takes the
    value s_i somewhere between points i and i + 1. So ∫|f″| ≥ S and ∫|f″| + |f′(−∞) + f′(∞)| ≥ S + T.
    Functions with kinks only at the points attain both bounds.
    """
    if len(x) < 2:
        return 0.0
    slopes = np.diff(y) / np.diff(x)
    bends, ends = float(abs(np.diff(slopes)).sum()), float(abs(slopes[0] + slopes[-1]))
    return max(bends, (bends + ends) / 2)


def penalised(x: Floats, y: Floats, rate: float) -> Penalised:
    """Return the net f of ReLU units with the least (1/m) Σ_i (f(x_i) − y_i)² + λR, where f has the cost R.

    The module defines R. Some best net has all its kinks at the points. So the problem is a Lasso over units
    with kinks at the points, with a free constant. A unit with its kink at x_j has the values u_i = relu(x_i
    − x_j) or u_i = relu(x_j − x_i) at the points. Let ȳ be the mean of y. The residuals z_i = y_i − f(x_i)
    satisfy Σ_i z_i = 0, and |⟨z, u⟩| ≤ mλ/2 for all units u. Of all vectors that satisfy these conditions, z
    is nearest to y − ȳ. Lawson and Hanson's least-distance programming finds z exactly. R follows from λR =
    (2/m) ⟨z, y − z⟩.

    Args:
        x: different points [m].
        y: values at these points [m].
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
