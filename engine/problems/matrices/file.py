"""The user's own instances."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.table import DataPath, make_absolute, read_table, shape_of, unread_bytes, values_of


class File(Matrix, frozen=True, tag="file"):
    """Your own instances: one row each, from a .npy, .npz, .csv or .parquet file.

    A path is relative to the preset file. With `permute` the rows come in a random order, each with its
    label. Every replica sees the same rows.
    """

    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: DataPath
    permute: Annotated[bool, Meta(title="permute rows", description="rows in random order")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        make_absolute(self)

    @property
    def feature_values(self) -> Values:
        values = values_of(self.path, "problem.matrix.path")
        return "any" if values == "bits" and self.repeat is not None else values

    @property
    def entry_values(self) -> Values:
        return "any" if self.rotate else self.feature_values

    @property
    def rows_are_given(self) -> bool:
        return True

    @property
    def random_order(self) -> bool:
        return self.permute

    def size(self) -> tuple[int, int]:
        return shape_of(self.path, "problem.matrix.path")

    def unread_bytes(self) -> int:
        return unread_bytes(self.path, "problem.matrix.path")

    def rows(self, streams: Streams) -> Rows:
        return read_table(self.path, "problem.matrix.path")[self.order(streams)]

    def order(self, streams: Streams) -> NDArray[np.int64]:
        n, _ = self.size()
        if self.permute:
            return streams("order").permutation(n)
        return np.tile(np.arange(n), (len(streams.seeds), 1))
