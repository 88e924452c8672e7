"""Hadamard matrices: Sylvester's doubling of Paley's constructions, and fast transforms.

For Sylvester's matrix, single rows, transforms and instances are computed without storing the matrix.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from engine.core.cost import square_lengths
from engine.core.lazy import torch
from engine.problems.instances import DenseInstances, Instances

Signs = NDArray[np.int8]


def hadamard(d: int) -> Signs:
    """Return a Hadamard matrix [d, d] of ±1 with HᵀH = d·I, whose row 0 and column 0 are all ones.

    If d is a power of two, it is Sylvester's matrix, entry (i, j) = (−1)^popcount(i & j). Otherwise, it is
    the Kronecker product of Sylvester's matrix of order 2^a with Paley's first or second construction of
    order d/2^a. The exponent a is as small as possible. If both of Paley's constructions give an order, the
    first is used.

    Raises: ValueError for an order without such a construction. Source: Sylvester 1867; Paley 1933.
    """
    doublings, order = _doublings_and_order(d)
    core = np.ones((1, 1), np.int8) if order == 1 else _paley_matrix(order)
    return np.kron(sylvester(1 << doublings), core)


def sylvester(d: int) -> Signs:
    """Return Sylvester's matrix [d, d] for d a power of two: entry (i, j) = (−1)^popcount(i & j)."""
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
    """Return whether `hadamard` can construct a matrix of order d."""
    try:
        _doublings_and_order(d)
    except ValueError:
        return False
    return True


def nearest(d: int) -> tuple[int | None, int]:
    """Return the nearest orders below and above d that `hadamard` can construct.

    The order below d is None if no such order exists.
    """
    below = next((order for order in range(d - 1, 0, -1) if reached(order)), None)
    return below, next(order for order in range(max(d, 0) + 1, 2 * max(d, 1) + 1) if reached(order))


def _doublings_and_order(d: int) -> tuple[int, int]:
    """Return (a, order) with d = 2^a · order, where order is 1 or an order of Paley's constructions.

    Raises: ValueError.
    """
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
    """Return (p, k) if Paley constructs a matrix of this order from the field GF(p^k), else None."""
    if order % 4 or order < 4:
        return None
    return _prime_power(order - 1) or (_prime_power(order // 2 - 1) if order % 8 == 4 else None)


def _paley_matrix(order: int) -> Signs:
    """Construct Paley's Hadamard matrix of an order 4m.

    The construction needs a prime power q = order − 1 ≡ 3, or q = order/2 − 1 ≡ 1 (mod 4).
    """
    field = _paley_field(order)
    assert field is not None, "only orders that `_doublings_and_order` found come here"
    p, k = field
    q = p**k
    character = _quadratic_character(p, k)
    core = np.zeros((q + 1, q + 1), np.int8)
    core[0, 1:] = 1
    core[1:, 1:] = character[_field_differences(p, k)]
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
    """Return (p, k) if q = p^k for a prime p, else None."""
    if q < 2:
        return None
    p = next((divisor for divisor in range(2, int(q**0.5) + 1) if q % divisor == 0), q)
    k, rest = 0, q
    while rest % p == 0:
        k, rest = k + 1, rest // p
    return (p, k) if rest == 1 else None


# An element Σ c_i x^i of GF(p^k) is written as the number Σ c_i p^i.


def _field_differences(p: int, k: int) -> NDArray[np.int64]:
    """Return a − b for all pairs of elements a and b of GF(p^k), [q, q] with q = p^k.

    Elements are numbered from 0 to q − 1. The base-p digits of a number are the coefficients of a polynomial.
    """
    elements = np.arange(p**k)
    differences = np.zeros((p**k, p**k), np.int64)
    for place in range(k):
        digit = elements // p**place % p
        differences += (digit[:, None] - digit) % p * p**place
    return differences


def _quadratic_character(p: int, k: int) -> Signs:
    """Return the quadratic character [q] of GF(p^k), p odd: 0 at 0, +1 at squares, −1 elsewhere.

    The powers of a generator alternate between squares and non-squares.
    """
    powers = _powers_of_a_generator(p, k)
    character = np.zeros(p**k, np.int8)
    character[powers[0::2]] = 1
    character[powers[1::2]] = -1
    return character


def _powers_of_a_generator(p: int, k: int) -> list[int]:
    """Return the powers 1, x, …, x^(q−2) modulo a monic polynomial of degree k, as element numbers.

    The polynomial is the first for which all these powers differ. So x generates the multiplicative group.
    """
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


MOST_ROWS = 8
"""Largest number of instances in a slice that is converted to a matrix. Larger slices stay operators."""


ROW_BITS = 10
"""Binary logarithm of the largest order of stored matrices. Longer rows are Kronecker products of rows."""

WHOLE_BITS, FACTOR_BITS = 7, 5
"""Binary logarithms of the largest orders of the matrices in a transform.

Up to order 2^WHOLE_BITS, a transform is one matrix product. Longer transforms are several products with
matrices of order up to 2^FACTOR_BITS.
"""


class Sylvester(Instances):
    """Instances x_k = s_k h_k: signed rows of Sylvester's matrix, as an operator.

    `order` [R, n] holds the indices of the rows h_k, and `signs` [R, n] the signs s_k. If `shifted`,
    instances are ½(s_k h_k + 1), with entries 0 and 1. One Walsh–Hadamard transform computes the inner
    products of a vector with all instances. `balanced` means that all rows of the matrix occur equally often.
    Without `shifted`, XᵀX/n is then I. So for every vector e, the mean of (xᵀe)² over the instances is ‖e‖²
    (Parseval).
    """

    def __init__(
        self,
        walsh: Walsh,
        d: int,
        order: torch.Tensor,
        signs: torch.Tensor,
        shifted: bool = False,
        balanced: bool = False,
    ) -> None:
        self._walsh, self.order, self.row_signs = walsh, order, signs
        self._shifted, self._balanced = shifted, balanced
        self.signs = not shifted
        self.d, (self.replicas, self.n) = d, order.shape
        self.dtype, self.device = signs.dtype, signs.device

    @cached_property
    def rows(self) -> torch.Tensor:
        return self._shifted_signs(self._walsh.rows(self.order, self.row_signs))

    def columns(self, places: torch.Tensor) -> torch.Tensor:
        """Return the values [R, m, n] of the features with indices `places` [R, m] on all instances."""
        return self._shifted_signs(self._signed_values(self._walsh.rows(places)))

    def of_matrix(self, places: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """Return hᵀw for all rows h of Sylvester's matrix in their original order, [R, m, d].

        Each of the m vectors w has the weights `sizes` [R, m, r] at the positions `places` [R, m, r], and 0
        elsewhere.
        """
        first, *rest = zip(places.unbind(2), sizes.to(self.dtype).unbind(2), strict=True)
        products = self._walsh.rows(*first)
        for term in rest:
            products += self._walsh.rows(*term)
        return products

    def at(self, numbers: slice) -> Instances:
        selected = self._selected_rows(self.order[:, numbers], self.row_signs[:, numbers])
        return DenseInstances(selected.rows, self.signs) if selected.n <= MOST_ROWS else selected

    def of_replica(self, replica: int) -> Instances:
        at = slice(replica, replica + 1)
        return self._selected_rows(self.order[at], self.row_signs[at])

    def pick(self, numbers: torch.Tensor) -> Instances:
        return self._selected_rows(self.order.gather(1, numbers), self.row_signs.gather(1, numbers))

    def _selected_rows(self, order: torch.Tensor, signs: torch.Tensor) -> Sylvester:
        return Sylvester(self._walsh, self.d, order, signs, self._shifted)

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        batch, h, _ = weights.shape
        grouped = weights.reshape(self.replicas, -1, self.d)
        products = self._signed_values(self._walsh.transform(grouped))
        if self._shifted:
            products = (products + grouped.sum(2, keepdim=True)) / 2
        return products.view(batch, h, self.n)

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        grouped = coefficients.view(self.replicas, -1, self.n)
        spread = grouped.new_zeros(*grouped.shape[:2], self.d)
        places = self.order[:, None].expand_as(grouped)
        combined = self._walsh.transform(spread.scatter_add_(2, places, grouped * self.row_signs[:, None]))
        if self._shifted:
            combined = (combined + grouped.sum(2, keepdim=True)) / 2
        return combined.view(-1, self.d)

    def mean_square(self, errors: torch.Tensor) -> torch.Tensor | None:
        if not self._balanced or self._shifted:
            return None
        return square_lengths(errors)

    def _signed_values(self, by_row: torch.Tensor) -> torch.Tensor:
        """Return each instance's value times its sign, [R, m, n], from values [R, m, d] of all rows."""
        picked = by_row.gather(2, self.order[:, None].expand(-1, by_row.shape[1], -1))
        return picked.mul_(self.row_signs[:, None])

    def _shifted_signs(self, signs: torch.Tensor) -> torch.Tensor:
        return (signs + 1) / 2 if self._shifted else signs


class Walsh:
    """Sylvester's matrix of order d = 2^m, entry (i, j) = (−1)^popcount(i & j), for one dtype and device.

    The matrix of order 2^a 2^b is the Kronecker product of the matrices of order 2^a and 2^b.
    """

    def __init__(self, d: int, dtype: torch.dtype, device: torch.device | str) -> None:
        self.d, self._dtype = d, dtype
        bits = d.bit_length() - 1
        parts = (
            _nearly_equal_summands(bits, ROW_BITS),
            _nearly_equal_summands(bits, WHOLE_BITS if bits <= WHOLE_BITS else FACTOR_BITS),
        )
        small = {
            part: torch.from_numpy(sylvester(1 << part)).to(device, dtype) for part in {*parts[0], *parts[1]}
        }
        self._of_rows, self._of_transforms = ([small[size] for size in sizes] for sizes in parts)

    def rows(self, numbers: torch.Tensor, times: torch.Tensor | None = None) -> torch.Tensor:
        """Return the rows […, d] with the indices `numbers` […], each times its factor in `times` […].

        The matrix is symmetric, so the rows are also columns.
        """
        *rest, last = self._of_rows
        rows = last[numbers % len(last)]
        if times is not None:
            rows = rows * times[..., None]
        for table in reversed(rest):
            numbers = numbers // len(last)
            part, last = table[numbers % len(table)], table
            rows = (part[..., :, None] * rows[..., None, :]).flatten(-2)
        return rows

    def transform(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return H v for vectors v […, d] by a few products with small matrices, as in the fast transform.

        Source: Good 1958.
        """
        *rest, last = self._of_transforms
        width = len(last)
        product = vectors.reshape(-1, width) @ last
        for factor in reversed(rest):
            product = factor @ product.view(-1, len(factor), width)
            width *= len(factor)
        return product.view(vectors.shape)


def _nearly_equal_summands(bits: int, limit: int) -> list[int]:
    """Split `bits` into as few summands as possible, each at most `limit`, as equal as possible."""
    count = max(1, -(-bits // limit))
    return [(bits + part) // count for part in range(count)]
