"""Instances on which update rules that adapt a separate rate for every weight generalise badly."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import MOST, SELDOM, BadField, Count
from engine.core.streams import Streams
from engine.problems.matrices import Floats, Matrix, MatrixStructure, RowNumbers, Rows

Examples = Annotated[int, Meta(ge=0, le=MOST)]

SHARED = 3
"""Number of entries before the private entries: the label, and two entries that are always 1."""


class Wilson(Matrix, frozen=True, tag="wilson"):
    """x = (y, 1, 1, private entries) with label y; private entries are 0 in all other instances.

    y is +1 with probability p, and −1 otherwise. Each instance has a block of `private` private entries. If
    y = +1, the first entry of the block is 1, and all other entries of the block are 0. If y = −1, all
    entries of the block are 1. So d = 3 + private · n. Some update rules change all weights with a nonzero
    gradient by the same amount, up to sign. Such rules give the private entries of the training rows as much
    weight as the first entry, which is the label. Source: Wilson, Roelofs, Stern, Srebro, Recht 2017;
    theory/automatic-descent#adaptive-fail.
    """

    n: Annotated[Count, Meta(title="rows n", description="number of instances")] = 20
    p: Annotated[float, Meta(ge=0, le=1, title="p", description="probability of y = +1")] = 0.6
    private: Annotated[
        Count,
        Meta(
            title="private",
            description="number of entries of each instance that are 0 in all other instances",
        ),
    ] = 5
    shown: Annotated[
        tuple[Examples, Examples] | None,
        Meta(
            title="shown",
            description="[a, b]: of the first a + b rows, a have the label +1 and b the label −1",
            extra=SELDOM,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shown is not None and sum(self.shown) > self.n:
            raise BadField(
                "shown",
                f"these are {sum(self.shown)} rows, but there are only {self.n}; show fewer rows, or raise n",
            )

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(private_entries=self.private, class_count=2)

    def size(self) -> tuple[int, int]:
        return self.n, SHARED + self.private * self.n

    def row_numbers(self, streams: Streams) -> RowNumbers:
        return RowNumbers(classes=self._drawn_classes(streams))

    def _drawn_classes(self, streams: Streams) -> NDArray[np.int64]:
        drawn = streams("classes").uniform(self.n)
        numbers = (drawn >= self.p).astype(np.int64)
        if self.shown is not None:
            places = drawn[:, : sum(self.shown)].argsort(1)
            np.put_along_axis(numbers, places, np.repeat([0, 1], self.shown)[None], 1)
        return numbers

    def rows(self, streams: Streams) -> Rows:
        labels = 1.0 - 2 * self._drawn_classes(streams)
        rows = np.zeros((len(labels), *self.size()))
        rows[:, :, 0], rows[:, :, 1:SHARED] = labels, 1.0
        for row in range(self.n):
            first = SHARED + row * self.private
            rows[:, row, first : first + self.private] = (labels[:, row] < 0)[:, None]
            rows[:, row, first] = 1.0
        return rows

    @property
    def second_moment(self) -> Floats:
        from scipy.linalg import block_diag  # type: ignore[import-untyped]

        n, d = self.size()
        negative = np.full(n, 1 - self.p)  # of every row
        if self.shown is not None:
            negative[: sum(self.shown)] = self.shown[1] / max(1, sum(self.shown))
        mean = 1 - 2 * negative.mean()
        first = np.eye(1, self.private)[0]
        of_private = first + np.outer(negative, 1 - first)
        with_label = np.outer(1 - 2 * negative, first) - np.outer(negative, 1 - first)
        only_first = np.outer(first, first)
        blocks = only_first + negative[:, None, None] * (1 - only_first)
        moment = np.zeros((d, d))
        moment[SHARED:, SHARED:] = block_diag(*blocks) / n
        moment[1:SHARED, SHARED:] = of_private.ravel() / n
        moment[0, SHARED:] = with_label.ravel() / n
        moment[:SHARED, :SHARED], moment[0, 1:SHARED], moment[0, 0] = 1.0, mean, 1.0
        upper = np.triu(moment)
        return upper + np.triu(moment, 1).T
