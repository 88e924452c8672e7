"""The Sylvester Hadamard matrix."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.parts import BadField
from engine.problems.matrices import Matrix, Rows
from engine.streams import Streams


class Hadamard(Matrix, frozen=True, tag="hadamard"):
    """Sylvester's Hadamard matrix: d orthogonal rows of ±1, entry (i, j) = (−1)^popcount(i & j).

    HᵀH = d·I. With `permute` the rows come in a uniformly random order; with `row_signs` every instance and
    its label are flipped together by a fair coin, (s h, s y). Column 0 is constant 1 up to the row signs.
    Source: WKA21 §3; theory.md §2.
    """

    constant_column: ClassVar[int | None] = 0
    signs_only: ClassVar[bool] = True

    d: Annotated[int, Meta(ge=2, title="d", description="features and rows: a power of two")] = 128
    permute: Annotated[bool, Meta(title="permute rows", description="rows in random order")] = True
    row_signs: Annotated[bool, Meta(title="row signs", description="flip (x, y) together at random")] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d & (self.d - 1):
            below = 1 << (self.d.bit_length() - 1)
            raise BadField("d", f"{self.d} is not a power of two; take {below} or {2 * below}")

    def size(self) -> tuple[int, int]:
        return self.d, self.d

    def rows(self, streams: Streams) -> Rows:
        index = np.arange(self.d, dtype=np.uint32)
        order = streams("order").permutation(self.d) if self.permute else [index] * len(streams.seeds)
        rows = np.empty((len(streams.seeds), self.d, self.d), np.float32)
        for replica, numbers in zip(rows, order, strict=True):
            odd = np.bitwise_count(np.asarray(numbers, np.uint32)[:, None] & index) & 1
            np.subtract(1.0, 2.0 * odd, out=replica, casting="unsafe")
        if self.row_signs:
            rows *= streams("signs").signs(self.d, 1).astype(np.float32)
        return rows
