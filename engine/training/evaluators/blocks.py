"""Weights of several records on their way to one matrix product, the same bits however many wait."""

from __future__ import annotations

from collections.abc import Callable

from engine.core.lazy import torch

TOGETHER = 256
"""So many weight vectors at once: a matrix in memory takes 3 to 7 times as long read for each of them."""


class Blocks:
    """The weights [B, d] of records, in blocks of so many.

    A record has its place in a block by its number, and a block that is not full has zeros in the other
    places. So a product is always one of the same shape, and its rows are the same bits wherever rounds end.
    """

    def __init__(self, size: int) -> None:
        self._size, self._first = size, 0
        self._waiting: list[torch.Tensor] = []

    def add(self, weights: torch.Tensor) -> None:
        """Have the weights of the next record wait."""
        self._waiting.append(weights)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether no more weights have a place in this block."""
        return self._first + len(self._waiting) == self._size

    def taken(self, product: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """What becomes of the weights that wait, by a product of a block [size, B, d] → [size, …]."""
        count = len(self._waiting)
        waiting = self._waiting[0][None] if count == 1 else torch.stack(self._waiting)
        self._waiting.clear()
        if count == self._size:
            return product(waiting)
        block = waiting.new_zeros(self._size, *waiting.shape[1:])
        some = slice(self._first, self._first + count)
        block[some] = waiting
        self._first = (self._first + count) % self._size
        return product(block)[some]
