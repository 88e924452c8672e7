"""Correlations of random features with parities of bits ±1, and signs that examples of parities determine.

The parity of a set S of k bits is χ_S(x) = ∏_{i ∈ S} x_i, for x with n bits. Features are functions of w·x
with Gaussian weights w ~ N(0, I/n), and their kernel is κ(x·x′/n). The kernel depends only on the entrywise
product of x and x′, so the parities are its eigenfunctions. Permutations of the bits do not change the
kernel, so all parities of k bits have the same eigenvalue. This eigenvalue is λ_k = 2⁻ⁿ Σ_m K_k(m) κ(1 −
2m/n) with Krawtchouk's polynomials K_k. The terms of this sum cancel almost completely, so the sum is
computed with 50 digits. Source: theory/parities-and-noise#parities.

The class `SignProducts` finds products of unknown signs that other products determine, by elimination over
F₂.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpmath import MPContext  # type: ignore[import-untyped]


DIGITS = 50


def steps_eigenvalue(bits: int, degree: int) -> float:
    """Return λ⁰_k, the mean squared correlation of a step unit 1[w·x > 0] with a parity of k bits.

    The vector x has n = `bits` uniform bits ±1, and w is Gaussian. The parity is χ_S(x), the product of the
    bits in any set S of k = `degree` bits. So λ⁰_k = E_w(E_x χ_S(x) 1[w·x > 0])². λ⁰_k is an eigenvalue of
    the kernel κ₀(ρ) = (π − arccos ρ)/2π. For k < 0 and k > n, the function returns 0.
    """
    return _eigenvalue_of_parities(bits, degree, lambda mp, rho: (mp.pi - mp.acos(rho)) / (2 * mp.pi))


def relu_eigenvalue(bits: int, degree: int) -> float:
    """Return λ¹_k, the mean squared correlation of a ReLU unit relu(w·x) with a parity of k bits.

    The vector x has n = `bits` uniform bits ±1, and w is Gaussian. The parity is χ_S(x), the product of the
    bits in any set S of k = `degree` bits. So λ¹_k = E_w(E_x χ_S(x) relu(w·x))². λ¹_k is an eigenvalue of the
    kernel κ₁(ρ) = (√(1 − ρ²) + ρ(π − arccos ρ))/2π. For odd k ≥ 3, λ¹_k is 0.
    """
    return _eigenvalue_of_parities(
        bits, degree, lambda mp, rho: (mp.sqrt(1 - rho * rho) + rho * (mp.pi - mp.acos(rho))) / (2 * mp.pi)
    )


def first_layer(bits: int, degree: int) -> float:
    """Return the mean squared gradient of the correlation between a ReLU unit and a parity of k bits.

    The unit is relu(w·x) for x with n = `bits` uniform bits ±1, and Gaussian w. The parity χ_S(x) is the
    product of k = `degree` bits. The gradient is with respect to w, and its mean square is Σ_i E_w(E_x χ_S(x)
    x_i 1[w·x > 0])² = k λ⁰_{k−1} + (n − k) λ⁰_{k+1}, with λ⁰ of `steps_eigenvalue`. The sum is 0 for odd k ≥
    3.
    """
    below = degree * steps_eigenvalue(bits, degree - 1)
    return below + (bits - degree) * steps_eigenvalue(bits, degree + 1)


def unknown(bits: int, examples: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the expected share of vectors of n bits outside the span, over F₂, of random examples.

    `examples` are numbers k of examples, and n = `bits`. After k examples of rank r over F₂, the share is 1 −
    2^(r − n). The function returns the mean of this share over random examples, for each k. The rank follows
    a recursion: with probability 1 − 2^(r − n), a new random example increases the rank r by 1. Suppose that
    the target is drawn from all parities. Given the labels seen, the label of each vector outside the span is
    a fair coin.
    """
    ranks = np.zeros(bits + 1)
    ranks[0] = 1.0
    spanned = np.exp2(np.arange(bits + 1.0) - bits)
    shares = [1 - spanned @ ranks]
    for _ in range(int(examples.max(initial=0))):
        new = ranks * (1 - spanned)
        ranks = ranks * spanned
        ranks[1:] += new[:-1]
        shares.append(1 - spanned @ ranks)
    return np.array(shares)[examples]


def _eigenvalue_of_parities(bits: int, degree: int, kernel: Callable[[MPContext, Any], Any]) -> float:
    if not 0 <= degree <= bits:
        return 0.0
    from mpmath import MPContext

    mp = MPContext()
    mp.dps = DIGITS + bits
    terms = (
        _scaled_krawtchouk(bits, degree, m) * kernel(mp, 1 - mp.mpf(2 * m) / bits) for m in range(bits + 1)
    )
    eigenvalue = mp.fsum(terms) / 2**bits
    return float(eigenvalue) if abs(eigenvalue) > mp.mpf(10) ** -DIGITS else 0.0


def _scaled_krawtchouk(bits: int, degree: int, distance: int) -> int:
    """Return the sum of a parity of k = `degree` bits over all x of ±1 with m = `distance` entries −1.

    x has n = `bits` entries. The sum is Σ_j (−1)^j C(k, j) C(n − k, m − j), which equals K_m(k) = K_k(m) C(n,
    m)/C(n, k).
    """
    return sum(
        (-1) ** j * comb(degree, j) * comb(bits - degree, distance - j)
        for j in range(min(degree, distance) + 1)
    )


Bits = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class SignProducts:
    """Products of unknown signs ±1. Observed products determine the values of others.

    There are r lists of signs, and every product multiplies r signs, one from each list. A product has an
    indicator vector over F₂ with one entry for each sign: 1 for the signs of the product, and 0 for all
    others. The value of a product is known if its vector is a sum of the vectors of observed products. The
    object stores a value for each sign. With these values, all observed products have their observed values.
    The object also stores a basis of the vectors that are orthogonal to the vectors of all observed products.
    The code of a sign consists of the entries of the basis vectors at this sign. A product is known if the
    codes of its signs add up to 0 modulo 2.
    """

    def __init__(self, sizes: Sequence[int], answers: int = 1) -> None:
        """Create lists of unknown signs, before any product is observed.

        Args:
            sizes: number of signs in each of the r lists.
            answers: number of problems that are solved at the same time. The same products are observed in
                all problems, but the values of signs and products may differ between problems.
        """
        self._first = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        self._sizes = tuple(sizes)
        self._codes = np.eye(sum(sizes), dtype=bool)
        self._negative = np.zeros((sum(sizes), answers), bool)
        self.rank = 0
        """Rank over F₂ of the vectors of the observed products."""

    def see(self, numbers: Numbers, negative: Bits) -> None:
        """Store the observed value of a product of signs, which may differ between the problems.

        Args:
            numbers: index of the product's sign in each list, [r].
            negative: whether the product is −1, in each problem, [answers].
        """
        signs = self._first + numbers
        code = np.logical_xor.reduce(self._codes[signs])
        if not code.any():
            return
        pivot = int(code.argmax())
        along = self._codes[:, pivot].copy()
        wrong = np.logical_xor.reduce(self._negative[signs]) ^ negative
        self._negative ^= along[:, None] & wrong
        self._codes[along] ^= code
        self.rank += 1

    def known(self, numbers: Numbers) -> tuple[Bits, Bits]:
        """Return whether each of n products is known, [n], and whether its value is −1, [n, answers].

        Each row of `numbers` [n, r] has the indices of a product's signs in the r lists. A product may have a
        different value in each of the `answers` problems. If a product is not known, its row of the second
        array has no meaning.
        """
        signs = self._first + numbers
        words = self._packed_signs()
        reduced = np.bitwise_xor.reduce(words[signs], 1)
        return ~reduced.any(1), np.logical_xor.reduce(self._negative[signs], 1)

    def share(self) -> float:
        """Return the share of known products among all possible products."""
        words, codes = self._packed_signs(), np.zeros((1, 1), np.uint64)
        for first, size in zip(self._first, self._sizes, strict=True):
            codes = (codes[:, None] ^ words[first : first + size]).reshape(-1, words.shape[1])
        return float(1 - codes.any(1).mean())

    def _packed_signs(self) -> NDArray[np.uint64]:
        """Return the codes of all signs, each packed into W words of 64 bits, [signs, W]."""
        used = self._codes[:, self._codes.any(0)]
        packed = np.packbits(used, 1)
        missing = max(8 - packed.shape[1], -packed.shape[1] % 8)
        return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view(np.uint64)
