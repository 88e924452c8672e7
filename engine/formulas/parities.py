"""What Gaussian weights see of a parity, and what examples say, on average over vectors x of n bits ±1.

χ_S(x) = ∏_{i ∈ S} x_i, |S| = k, and w ~ N(0, I/n). That E χ_S(x) χ_S(x′) κ(x·x′/n) is the same for all S of
one size makes the kernel of a net with such weights diagonal in the parities, with eigenvalues
λ_k = 2⁻ⁿ Σ_m K_k(m) κ(1 − 2m/n) and Krawtchouk's polynomials K_k. The terms of the sum cancel to far below
their size, so that it is taken with 50 digits. Source: theory-bias.md §41.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpmath import MPContext  # type: ignore[import-untyped]

DIGITS = 50


def steps_eigenvalue(bits: int, degree: int) -> float:
    """λ⁰_k = E_w(E_x χ_S(x) 1[w·x > 0])², of κ₀(ρ) = (π − arccos ρ)/2π; 0 where k is not 0 … n."""
    return _eigenvalue(bits, degree, lambda mp, rho: (mp.pi - mp.acos(rho)) / (2 * mp.pi))


def relu_eigenvalue(bits: int, degree: int) -> float:
    """λ¹_k = E_w(E_x χ_S(x) relu(w·x))², of κ₁(ρ) = (√(1 − ρ²) + ρ(π − arccos ρ))/2π; 0 for odd k ≥ 3."""
    return _eigenvalue(
        bits, degree, lambda mp, rho: (mp.sqrt(1 - rho * rho) + rho * (mp.pi - mp.acos(rho))) / (2 * mp.pi)
    )


def first_layer(bits: int, degree: int) -> float:
    """Σ_i E_w(E_x χ_S(x) x_i 1[w·x > 0])² = k λ⁰_{k−1} + (n − k) λ⁰_{k+1}; 0 for odd k ≥ 3."""
    below = degree * steps_eigenvalue(bits, degree - 1)
    return below + (bits - degree) * steps_eigenvalue(bits, degree + 1)


def unknown(bits: int, examples: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 − E 2^(rank − n) of as many random vectors of n bits as there are examples, over F₂.

    The share of all vectors that are not sums of those: of a parity drawn from all, their labels are fair
    coins, whatever the labels seen. A vector is new with probability 1 − 2^(r − n) after r that are.
    """
    ranks = np.zeros(bits + 1)
    ranks[0] = 1.0
    spanned = np.exp2(np.arange(bits + 1.0) - bits)
    found = [1 - spanned @ ranks]
    for _ in range(int(examples.max(initial=0))):
        new = ranks * (1 - spanned)
        ranks = ranks * spanned
        ranks[1:] += new[:-1]
        found.append(1 - spanned @ ranks)
    return np.array(found)[examples]


def _eigenvalue(bits: int, degree: int, kernel: Callable[[MPContext, Any], Any]) -> float:
    if not 0 <= degree <= bits:
        return 0.0
    from mpmath import MPContext

    mp = MPContext()
    mp.dps = DIGITS + bits
    terms = (_krawtchouk(bits, degree, m) * kernel(mp, 1 - mp.mpf(2 * m) / bits) for m in range(bits + 1))
    found = mp.fsum(terms) / 2**bits
    return float(found) if abs(found) > mp.mpf(10) ** -DIGITS else 0.0


def _krawtchouk(bits: int, degree: int, distance: int) -> int:
    """K_k(m) = Σ_j (−1)^j C(m, j) C(n − m, k − j): the sum of χ_S over all x with m bits −1, |S| = k.

    Divided by C(n, k) times C(n, m), it is the same with the parts of k and m exchanged.
    """
    return sum(
        (-1) ** j * comb(degree, j) * comb(bits - degree, distance - j)
        for j in range(min(degree, distance) + 1)
    )
