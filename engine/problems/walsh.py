"""Sylvester's matrix without its entries: single rows, and the fast Walsh–Hadamard transform."""

from __future__ import annotations

from engine.core.lazy import torch
from engine.problems.hadamard_matrices import sylvester

ROW_BITS = 10
"""A row is made of rows of Sylvester matrices of at most 2^ROW_BITS."""

WHOLE_BITS, FACTOR_BITS = 7, 5
"""Up to 2^WHOLE_BITS a transform is one product; a longer one takes matrices of at most 2^FACTOR_BITS."""


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
        self._of_rows, self._of_transforms = ([small[part] for part in some] for some in parts)

    def rows(self, numbers: torch.Tensor, times: torch.Tensor | None = None) -> torch.Tensor:
        """The rows of these numbers […], which are the columns too, times one number each: […, d]."""
        *others, last = self._of_rows
        rows = last[numbers % len(last)]
        if times is not None:
            rows = rows * times[..., None]
        for table in reversed(others):
            numbers = numbers // len(last)
            part, last = table[numbers % len(table)], table
            rows = (part[..., :, None] * rows[..., None, :]).flatten(-2)
        return rows

    def transform(self, vectors: torch.Tensor) -> torch.Tensor:
        """H v for every vector v of […, d], by O(d log d) additions as a few products of small matrices.

        Source: Good 1958.
        """
        *others, last = self._of_transforms
        width = len(last)
        result = vectors.reshape(-1, width) @ last
        for factor in reversed(others):
            result = factor @ result.view(-1, len(factor), width)
            width *= len(factor)
        return result.view(vectors.shape)


def _split(bits: int, most: int) -> list[int]:
    """`bits` as a sum of as few numbers up to `most` as possible, nearly equal ones."""
    count = max(1, -(-bits // most))
    return [(bits + part) // count for part in range(count)]
