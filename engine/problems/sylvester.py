"""Sylvester matrices without their entries: single rows, transforms, and instances made of them."""

from __future__ import annotations

from functools import cached_property

from engine.core.cost import square_lengths
from engine.core.lazy import torch
from engine.problems.hadamard_matrices import sylvester
from engine.problems.instances import Dense, Instances

MOST_ROWS = 8
"""So few instances are made one by one; more stay an operator."""


ROW_BITS = 10
"""A row is made of rows of Sylvester matrices of at most 2^ROW_BITS."""

WHOLE_BITS, FACTOR_BITS = 7, 5
"""Up to 2^WHOLE_BITS a transform is one product; a longer one takes matrices of at most 2^FACTOR_BITS."""


class Sylvester(Instances):
    """Instances x_k = s_k h of Sylvester's matrix, h its row number `order` [R, n], s_k = `signs` [R, n].

    When `shifted` they are ½(s_k h + 1), with entries 0 and 1. Inner products with all of them are one
    Walsh–Hadamard transform. `balanced` says that every row of the matrix comes equally often; then
    XᵀX/n = I, and by Parseval the mean of (xᵀe)² is ‖e‖².
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
        return self._placed(self._walsh.rows(self.order, self.row_signs))

    def columns(self, places: torch.Tensor) -> torch.Tensor:
        """The features of these numbers [R, m] on all instances, [R, m, n]."""
        return self._placed(self._take(self._walsh.rows(places)))

    def of_matrix(self, places: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
        """hᵀw of the rows h of Sylvester's matrix in its own order, [R, m, d].

        For vectors w [R, m] with weights `sizes` at `places`, [R, m, r] each, and 0 elsewhere.
        """
        first, *rest = zip(places.unbind(2), sizes.to(self.dtype).unbind(2), strict=True)
        products = self._walsh.rows(*first)
        for term in rest:
            products += self._walsh.rows(*term)
        return products

    def at(self, numbers: slice) -> Instances:
        selected = self._some(self.order[:, numbers], self.row_signs[:, numbers])
        return Dense(selected.rows, self.signs) if selected.n <= MOST_ROWS else selected

    def of_replica(self, replica: int) -> Instances:
        at = slice(replica, replica + 1)
        return self._some(self.order[at], self.row_signs[at])

    def pick(self, numbers: torch.Tensor) -> Instances:
        return self._some(self.order.gather(1, numbers), self.row_signs.gather(1, numbers))

    def _some(self, order: torch.Tensor, signs: torch.Tensor) -> Sylvester:
        return Sylvester(self._walsh, self.d, order, signs, self._shifted)

    def inner(self, weights: torch.Tensor) -> torch.Tensor:
        batch, h, _ = weights.shape
        grouped = weights.reshape(self.replicas, -1, self.d)
        products = self._take(self._walsh.transform(grouped))
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

    def _take(self, by_row: torch.Tensor) -> torch.Tensor:
        """Values of the d rows of Sylvester's matrix [R, m, d], for the instances [R, m, n]."""
        picked = by_row.gather(2, self.order[:, None].expand(-1, by_row.shape[1], -1))
        return picked.mul_(self.row_signs[:, None])

    def _placed(self, signs: torch.Tensor) -> torch.Tensor:
        """Entries ±1 as the entries of instances."""
        return (signs + 1) / 2 if self._shifted else signs


class Walsh:
    """Sylvester's matrix of order d = 2^m, entry (i, j) = (−1)^popcount(i & j), for one dtype and device.

    The matrix of order 2^a 2^b is the Kronecker product of those of order 2^a and 2^b.
    """

    def __init__(self, d: int, dtype: torch.dtype, device: torch.device | str) -> None:
        self.d, self._dtype = d, dtype
        bits = d.bit_length() - 1
        parts = _split(bits, ROW_BITS), _split(bits, WHOLE_BITS if bits <= WHOLE_BITS else FACTOR_BITS)
        small = {
            part: torch.from_numpy(sylvester(1 << part)).to(device, dtype) for part in {*parts[0], *parts[1]}
        }
        self._of_rows, self._of_transforms = ([small[part] for part in sizes] for sizes in parts)

    def rows(self, numbers: torch.Tensor, times: torch.Tensor | None = None) -> torch.Tensor:
        """The rows of these numbers […], which are the columns too, times one number each: […, d]."""
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
        """H v for every vector v of […, d], by O(d log d) additions as a few products of small matrices.

        Source: Good 1958.
        """
        *rest, last = self._of_transforms
        width = len(last)
        product = vectors.reshape(-1, width) @ last
        for factor in reversed(rest):
            product = factor @ product.view(-1, len(factor), width)
            width *= len(factor)
        return product.view(vectors.shape)


def _split(bits: int, limit: int) -> list[int]:
    """`bits` as a sum of as few numbers up to `limit` as possible, nearly equal ones."""
    count = max(1, -(-bits // limit))
    return [(bits + part) // count for part in range(count)]
