"""Hadamard matrices: Sylvester's doubling of the constructions of Paley."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int8]


def hadamard(d: int) -> Signs:
    """A Hadamard matrix [d, d] of ±1 with HᵀH = d·I, its row 0 and column 0 all ones.

    For d a power of two it is Sylvester's, entry (i, j) = (−1)^popcount(i & j). Otherwise it is the Kronecker
    product of Sylvester's matrix of order 2^a with Paley's first or second construction of order d/2^a, for
    the smallest a that works, and the first construction where both do.
    Raises: ValueError for an order that this does not reach. Source: Sylvester 1867; Paley 1933.
    """
    doublings, order = _split(d)
    core = np.ones((1, 1), np.int8) if order == 1 else _paley(order)
    return np.kron(sylvester(1 << doublings), core)


def sylvester(d: int) -> Signs:
    """Sylvester's matrix [d, d] for d a power of two: entry (i, j) = (−1)^popcount(i & j)."""
    matrix = np.ones((d, d), np.int8)
    size = 1
    while size < d:
        block = matrix[:size, :size]
        matrix[:size, size : 2 * size] = block
        matrix[size : 2 * size, :size] = block
        matrix[size : 2 * size, size : 2 * size] = -block
        size *= 2
    return matrix


def reached(d: int) -> bool:
    """Whether `hadamard(d)` exists."""
    try:
        _split(d)
    except ValueError:
        return False
    return True


def nearest(d: int) -> tuple[int | None, int]:
    """The nearest orders below and above d that `hadamard` reaches; none below 1."""
    below = next((order for order in range(d - 1, 0, -1) if reached(order)), None)
    return below, next(order for order in range(max(d, 0) + 1, 2 * max(d, 1) + 1) if reached(order))


def _split(d: int) -> tuple[int, int]:
    """(a, order) with d = 2^a · order, where order is 1 for powers of two and else one of Paley's."""
    if d > 0 and d & (d - 1) == 0:
        return d.bit_length() - 1, 1
    doublings, order = 0, d
    while order > 0:
        if _paley_field(order) is not None:
            return doublings, order
        if order % 2:
            break
        doublings, order = doublings + 1, order // 2
    raise ValueError(f"no product of the constructions of Sylvester and Paley has order {d}")


def _paley_field(order: int) -> tuple[int, int] | None:
    """(p, k) of the field from which one of Paley's constructions makes a matrix of this order, if any."""
    if order % 4 or order < 4:
        return None
    return _prime_power(order - 1) or (_prime_power(order // 2 - 1) if order % 8 == 4 else None)


def _paley(order: int) -> Signs:
    """Paley's matrix of an order 4m: q = order − 1 ≡ 3, or q = order/2 − 1 ≡ 1 (mod 4), a prime power."""
    field = _paley_field(order)
    assert field is not None, "only orders that _split found come here"
    p, k = field
    q = p**k
    character = _character(p, k)
    core = np.zeros((q + 1, q + 1), np.int8)
    core[0, 1:] = 1
    core[1:, 1:] = character[_differences(p, k)]
    if q == order - 1:
        core[1:, 0] = -1
        matrix = core + np.eye(order, dtype=np.int8)
    else:
        core[1:, 0] = 1
        matrix = np.kron(core, np.array([[1, 1], [1, -1]], np.int8))
        matrix += np.kron(np.eye(q + 1, dtype=np.int8), np.array([[1, -1], [-1, -1]], np.int8))
    matrix *= matrix[:, :1]
    matrix *= matrix[:1]
    return matrix


def _prime_power(q: int) -> tuple[int, int] | None:
    """(p, k) with q = p^k and p prime, if q is a prime power."""
    if q < 2:
        return None
    p = next((divisor for divisor in range(2, int(q**0.5) + 1) if q % divisor == 0), q)
    k, rest = 0, q
    while rest % p == 0:
        k, rest = k + 1, rest // p
    return (p, k) if rest == 1 else None


# An element Σ c_i x^i of GF(p^k) is written as the number Σ c_i p^i.


def _differences(p: int, k: int) -> NDArray[np.int64]:
    """a − b for all pairs of elements of GF(p^k), [q, q]."""
    elements = np.arange(p**k)
    differences = np.zeros((p**k, p**k), np.int64)
    for place in range(k):
        digit = elements // p**place % p
        differences += (digit[:, None] - digit) % p * p**place
    return differences


def _character(p: int, k: int) -> Signs:
    """The quadratic character of GF(p^k), p odd: 0 at 0, +1 at squares, −1 at other elements, [q].

    The powers of a generator alternate between squares and others.
    """
    powers = _powers_of_a_generator(p, k)
    character = np.zeros(p**k, np.int8)
    character[powers[0::2]] = 1
    character[powers[1::2]] = -1
    return character


def _powers_of_a_generator(p: int, k: int) -> list[int]:
    """1, x, x², …, x^(q−2) modulo the first monic polynomial of degree k for which they are all different."""
    q = p**k
    for low in product(range(p), repeat=k):  # x^k = Σ low[i] x^i
        element = [1] + [0] * (k - 1)
        powers: list[int] = []
        while len(powers) < q - 1:
            powers.append(sum(digit * p**place for place, digit in enumerate(element)))
            carry = element[-1]
            element = [(a + carry * b) % p for a, b in zip([0, *element[:-1]], low, strict=True)]
            if element == [1] + [0] * (k - 1):
                break
        if len(powers) == q - 1 and len(set(powers)) == q - 1:
            return powers
    raise AssertionError("every finite field has a generator")
