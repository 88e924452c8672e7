"""Tables that come with scikit-learn."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import BadField, Count
from engine.core.streams import Streams
from engine.problems.bundled_tables import SIZES, TableName, read_bundled
from engine.problems.data_files import DataReport
from engine.problems.matrices import Matrix, MatrixStructure, PermuteRows, RowNumbers, Rows
from engine.problems.standardisation import standardise

PLACE = "problem.matrix"

MOST_ROWS = max(rows for rows, _ in SIZES.values())


class Bundled(Matrix, frozen=True, tag="bundled"):
    """A table that comes with scikit-learn: breast-cancer, diabetes, digits, iris or wine.

    In each replica, the rows of the table are in random order or, without `permute`, in the order of the
    table. The first n − `test` rows are training rows, and the last `test` rows are held out from training.
    The rows between training and test rows are not used. With `permute`, replicas are random splits of the
    same table, and the test rows of two replicas may overlap. Expressions in a protocol may use `training`
    for the number of training rows. With `standardise`, every feature has mean 0 and standard deviation 1 on
    the training rows. A feature that is constant on the training rows becomes 0.

    The target `classes` predicts the classes of the table. The target `file` without a path predicts the
    labels of the table. These labels are numbers for `diabetes`, and −1 and +1 for two classes. With more
    classes, each class has one target. Source: Pedregosa et al. 2011; theory/symmetry#diagnose.
    """

    table: Annotated[TableName, Meta(title="table", description="name of the table")] = "diabetes"
    n: Annotated[
        Count | None,
        Meta(title="rows n", description="total number of training rows and test rows; none: all rows"),
    ] = None
    test: Annotated[
        Annotated[int, Meta(ge=0, lt=MOST_ROWS)],
        Meta(title="test rows", description="number of rows that are held out from training"),
    ] = 0
    permute: PermuteRows = True
    standardise: Annotated[
        bool,
        Meta(
            title="standardise",
            description="scale features to mean 0 and standard deviation 1 on the training rows",
        ),
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, _ = SIZES[self.table]
        if self.n is not None and self.n > rows:
            raise BadField("n", f"{self.table} has only {rows} rows; take at most {rows}")
        if self.test >= (n := self.n or rows):
            raise BadField(
                "test", f"at least one of {n} rows must be a training row; take at most {n - 1} test rows"
            )

    @property
    def _training(self) -> int:
        n, _ = self.size()
        return n - self.test

    def structure(self) -> MatrixStructure:
        labels = read_bundled(self.table).labels
        copies = 2 * (self.repeat or 0) or 1
        return (
            super()
            .structure()
            ._replace(
                named_sizes={"training": copies * self._training},
                held_out=copies * self.test,
                class_count=None if labels.classes is None else len(labels.classes.names),
                random_order=self.permute,
                given_labels=labels,
            )
        )

    def size(self) -> tuple[int, int]:
        rows, d = SIZES[self.table]
        return self.n or rows, d

    def row_numbers(self, streams: Streams) -> RowNumbers:
        order, classes = self._order(streams), read_bundled(self.table).labels.classes
        return RowNumbers(order, None if classes is None else classes.numbers[order])

    def data_report(self) -> DataReport:
        rows, columns = SIZES[self.table]
        return DataReport(PLACE, f"{self.table} of scikit-learn", rows, columns, label="target")

    def rows(self, streams: Streams) -> Rows:
        rows = read_bundled(self.table).features[self._order(streams)]
        if self.standardise:
            for of_replica in rows:
                standardise(of_replica, self._training)
        return rows

    def _order(self, streams: Streams) -> NDArray[np.int64]:
        """Return the rows of the table that each replica sees, in order, [R, n]."""
        count, _ = SIZES[self.table]
        if self.permute:
            order = streams("order").permutation(count)
        else:
            order = np.tile(np.arange(count), (len(streams.seeds), 1))
        return np.concatenate((order[:, : self._training], order[:, count - self.test :]), axis=1)
