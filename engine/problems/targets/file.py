"""The user's own labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from engine.core.parts import BadInput, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.table import DataPath, make_absolute, read_table, shape_of, unread_bytes, values_of
from engine.problems.targets import Target


class File(Target, frozen=True, tag="file"):
    """Your own labels: one row per instance, one column per target, from .npy, .npz, .csv or .parquet.

    A path is relative to the preset file. Labels belong to the rows of a matrix file, in the order of that
    file; the other matrix families draw their own rows and refuse labels from outside.
    """

    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: DataPath

    def __post_init__(self) -> None:
        super().__post_init__()
        make_absolute(self)

    def columns(self, matrix: Matrix) -> int:
        return self._shape()[1]

    def unread_bytes(self) -> int:
        return unread_bytes(self.path, "problem.target.path")

    def check(self, matrix: Matrix) -> None:
        if not matrix.rows_are_given:
            raise BadInput(
                "problem.target.kind",
                f"labels from a file need instances from a file, and the matrix is {matrix.kind}; "
                'take [problem.matrix] kind = "file"',
            )
        if matrix.repeat is not None:
            raise BadInput("problem.matrix.repeat", "labels from a file cannot be repeated; leave it out")
        n, _ = matrix.shape()
        rows, _ = self._shape()
        if rows != n:
            raise BadInput(
                "problem.target.path", f"{self.path} has {rows} rows of labels, the matrix has {n} instances"
            )

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        table = read_table(self.path, "problem.target.path")
        return table[matrix.order(streams)].swapaxes(1, 2)

    def values(self, matrix: Matrix) -> Values:
        return values_of(self.path, "problem.target.path")

    def _shape(self) -> tuple[int, int]:
        return shape_of(self.path, "problem.target.path")
