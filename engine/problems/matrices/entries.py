"""The entries of a matrix, one by one."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import MOST, BadField, Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, PermuteRows, Rows


class Entries(Matrix, frozen=True, tag="entries"):
    """The entries of a matrix W, one by one: instances e_i e_jᵀ, for which the prediction is W_ij.

    Every entry occurs once. Entry (i, j) of a matrix with c columns is feature c·i + j. In the instance of
    this entry, this feature is 1, and all other features are 0. The order is random or, without `permute`,
    row by row. Training on the first few entries is matrix completion. Expressions in other parts of the
    experiment may use the sizes `rows` and `columns` of W. Source: WGL20;
    theory/implicit-bias#matrix-completion.
    """

    factors: Annotated[
        Annotated[tuple[Count, ...], Meta(min_length=2, max_length=2)],
        Meta(title="factors", description="numbers of rows and columns of W, such as 10, 10"),
    ] = (10, 10)
    permute: PermuteRows = True

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, columns = self.factors
        if rows * columns > MOST:
            raise BadField("factors", f"{rows} × {columns} entries are too many; take at most {MOST} entries")

    def structure(self) -> MatrixStructure:
        rows, columns = self.factors
        in_turn = not (self.permute or self.repeat or self.rotate)
        structure = super().structure()
        return structure._replace(
            named_sizes={"rows": rows, "columns": columns},
            random_order=self.permute,
            entries_of=(rows, columns) if in_turn else None,
        )

    def size(self) -> tuple[int, int]:
        rows, columns = self.factors
        return rows * columns, rows * columns

    @property
    def second_moment(self) -> float:
        return 1 / self.size()[1]

    def rows(self, streams: Streams) -> Rows:
        count = self.size()[0]
        units = np.eye(count)
        if not self.permute:
            return np.tile(units, (len(streams.seeds), 1, 1))
        return units[streams("matrix").permutation(count)]
