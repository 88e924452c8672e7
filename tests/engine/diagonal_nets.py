"""Objectives Q_α and R_α that gradient flow minimises on a diagonal net, β = u^D − v^D from u = v = α·1.

Q_α(β) = Σ_i q_D(β_i/α^D) is the objective of `engine.solvers.min_q`. R_α belongs to the β nearest to the
start in the weights of the net, min ‖(u, v) − α·1‖² subject to Xβ = y. At depth 2 it is R_α(β) = Σ_i
r(β_i/α²) with r = q₄: Q of the net of depth 4 at the start √α. Source: WGL20;
theory/implicit-bias#kernel-and-rich.
"""

from __future__ import annotations

import math


def potential(b: float, depth: int) -> float:
    """q_D(b): 2 − √(4 + b²) + b asinh(b/2) for D = 2, else ∫₀ᵇ h⁻¹, h as in `transfer`.

    Grows like b²/4 near 0 for D = 2 and b² (D − 2)/(4D) for D ≥ 3; like |b| ln |b| and like |b| far out.
    """
    if depth == 2:
        return b * math.asinh(b / 2) - b * b / (2 + math.sqrt(4 + b * b))
    turn, power = _turn(abs(b), depth), 2 / (depth - 2)
    # b z − H(z) + H(0) with H(z) = ((1 − z)^−a + (1 + z)^−a)/a, a = 2/(D − 2), and without cancellation
    stretch = math.expm1(power * _log_cosh(turn))
    rise = stretch * math.cosh(power * turn) + 2 * math.sinh(power * turn / 2) ** 2
    return abs(b) * math.tanh(turn) - 2 / power * rise


def transfer(z: float, depth: int) -> float:
    """h_D(z) = (1 − z)^(−p) − (1 + z)^(−p), p = D/(D − 2), |z| < 1; 2 sinh z for D = 2."""
    return 2 * math.sinh(z) if depth == 2 else _turned(math.atanh(z), depth)


def inverse_transfer(b: float, depth: int) -> float:
    """q_D′(b): the z with h_D(z) = b; asinh(b/2) for D = 2."""
    return math.asinh(b / 2) if depth == 2 else math.copysign(math.tanh(_turn(abs(b), depth)), b)


def _turned(turn: float, depth: int) -> float:
    """h_D(tanh t) = 2 cosh^p(t) sinh(p t), D ≥ 3: without 1 − z, which loses digits near 1."""
    power = depth / (depth - 2)
    return 2 * math.exp(power * _log_cosh(turn)) * math.sinh(power * turn)


def _turn(b: float, depth: int) -> float:
    """The t with h_D(tanh t) = b ≥ 0, for D ≥ 3."""
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    return float(brentq(lambda turn: _turned(turn, depth) - b, 0, 1 + math.asinh(b), xtol=1e-15))


def _log_cosh(turn: float) -> float:
    return math.log1p(math.sinh(turn) ** 2) / 2
