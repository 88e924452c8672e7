"""Gradient descent with large steps on a net of two linear layers, trained on one example.

The functions compute λ = ‖∇z‖² and r = z − y after every step. The prediction of a net with m hidden units is
z = (md)^(−1/2) Σ_i v_i u_i·x. The loss is L = ½(z − y)², and the rate is γ. Learners in this program have the
loss (ŷ − y)², so the same steps have the rate η = γ/2. If the error at the start is small, γλ₀ ≃ ηS₀ for the
sharpness S₀ at the start. Source: Lewkowycz et al. 2020; Zhu, Liu, Radhakrishnan, Belkin 2022;
theory/curvature#catapult.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MONOTONE_BELOW = 2.0
"""Largest γλ₀, which equals ηS₀, for which the loss of a wide net decreases in every step."""

DIVERGES_FROM = 4.0
"""Least γλ₀ for which the net diverges. Between the two limits, the loss first rises to the order of m, and
then falls as λ decreases.
"""

SMALL, PHASES, MOST = 1e-10, 64, 10**5
"""Constants of `landing`: the initial s, the number of phases of the growth of s to average over, and the
largest number of steps.
"""


class Recursion(NamedTuple):
    """Errors and tangent kernels of a net of two linear layers, at the start and after every step."""

    errors: Floats
    """Errors r = z − y, [steps + 1, …]."""

    kernels: Floats
    """Kernels λ = ‖∇z‖², [steps + 1, …]."""


def recursion(
    error: float | Floats,
    kernel: float | Floats,
    target: float | Floats,
    share: float | Floats,
    rate: float | Floats,
    steps: int,
) -> Recursion:
    """Return errors r and kernels λ at all steps: r′ = r(1 − γλ + γ² q z r), λ′ = λ + γq(γλr² − 4zr).

    The net has two linear layers and is trained on one example with the label y, by gradient descent on ½r².
    The prediction is z, the error is r = z − y, and λ = ‖∇z‖². A prime marks the values after a step. The
    recursion is exact. The result begins with the values at the start. All arguments except `steps` are
    numbers for one net, or arrays for several nets.

    Args:
        error: r at the start.
        kernel: λ at the start.
        target: y.
        share: q = ‖x‖²/(md), for an instance x with d entries and m hidden units.
        rate: γ.
        steps: number of steps.
    """
    r, lam = np.broadcast_arrays(np.asarray(error, float), np.asarray(kernel, float))
    errors, kernels = np.empty((steps + 1, *r.shape)), np.empty((steps + 1, *r.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps + 1):
            errors[step], kernels[step] = r, lam
            z = r + target
            r, lam = (
                r * (1 - rate * lam + rate**2 * share * z * r),
                lam + rate * share * (rate * lam * r * r - 4 * z * r),
            )
    return Recursion(errors, kernels)


def sharpness(trajectory: Recursion, target: float | Floats, share: float | Floats) -> Floats:
    """Return the sharpness S = λ + √(λ² + 8qzr + 4qr²) of a net of two linear layers at all steps.

    S is the largest eigenvalue of the Hessian of the loss (z − y)² on one example. `recursion` defines λ, q,
    z and r. The result begins with the value at the start. If the error is 0, S = 2λ.

    Proof: let h_i = u_i·x/‖x‖ for the first layer's weights u_i, and let v be the second layer's weights.
    Then z = √q h·v. Let a = (h + v)/√2 and b = (h − v)/√2. In the coordinates (a, b), the Hessian of z is √q
    times the identity on a, and −√q times the identity on b. The gradient is ∇z = √q (a, −b). The top
    eigenvector of 2(∇z∇zᵀ + r∇²z) is a linear combination of (a, 0) and (0, b). The squared lengths of √q a
    and √q b are (λ + 2√q z)/2 and (λ − 2√q z)/2.
    """
    errors, kernels = trajectory
    z = errors + target
    with np.errstate(over="ignore", invalid="ignore"):
        root = np.sqrt(kernels**2 + 8 * share * z * errors + 4 * share * errors**2)
        return np.asarray(kernels + root)


class Landing(NamedTuple):
    """State of a wide net at the end of training with large steps."""

    product: float
    """γλ at the end of training."""

    peak: float
    """Largest s = γ²qz² during training. The loss ½z² therefore rises to s/(2γ²q)."""


def landing(product: float) -> Landing:
    """Return the final state of a net of two linear layers that starts at γλ₀ = `product`.

    The label is y = 0, and the number of hidden units goes to infinity. γ is the learning rate for the loss
    ½z², and λ₀ is the kernel λ = ‖∇z‖² at the start. Let s = γ²qz² and κ = γλ, with q of `recursion`. A step
    is s′ = s(1 − κ + s)², κ′ = κ + s(κ − 4). For a product up to 2, κ stays at its initial value. For
    products of 4 and more, the net diverges, and the result is NaN.

    For a product between 2 and 4, s grows from nearly 0 by a factor (κ − 1)² per step. The final state
    depends on the first s, even if the first s is tiny. Multiply the first s by all numbers from 1 to (κ −
    1)². Then the final κ varies by 5e-6 for the product 2.5, by 0.06 for 3, and by 0.27 for 3.2. The function
    returns the mean final state for PHASES values of the first s in this range.
    """
    if product <= MONOTONE_BELOW:
        return Landing(product, 0.0)
    if product >= DIVERGES_FROM:
        return Landing(np.nan, np.nan)
    s = SMALL * (product - 1) ** (2 * np.arange(PHASES) / PHASES)
    kappa, peak = np.full(PHASES, product), s
    for _ in range(MOST):
        s, kappa = s * (1 - kappa + s) ** 2, kappa + s * (kappa - 4)
        peak = np.maximum(peak, s)
        if (kappa < MONOTONE_BELOW).all() and s.max() < SMALL:
            break
    return Landing(float(kappa.mean()), float(peak.mean()))
