"""The user's own instances."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import BadField
from engine.core.streams import Streams
from engine.problems import table
from engine.problems.data_files import (
    Array,
    Column,
    Columns,
    DataPath,
    DataReport,
    Decimal,
    Header,
    Index,
    Separator,
    TableSettings,
    make_absolute,
)
from engine.problems.encoded_table import EncodedTable, read_encoded
from engine.problems.matrices import Matrix, MatrixStructure, RowNumbers, Rows
from engine.problems.standardisation import standardise

PLACE = "problem.matrix"


class File(Matrix, frozen=True, tag="file"):
    """Your own instances, one row each: .csv, .tsv, .txt, .parquet, .npy, .npz or .svm (SVMlight, LIBSVM).

    A path is relative to the preset file. Text may be compressed by gzip. Separator, decimal sign, header and
    index are detected, and every run reports how the file was read. An ambiguous file is refused, and the
    message names the setting that resolves the ambiguity. `label` names the column of labels, which is then
    not a feature. The target `file` without a path uses this column as labels: two words become −1 and +1.
    With more words, each word has one target. The target `classes` uses the words or whole numbers in this
    column as classes. With `permute`, the rows are in random order, each with its label. Every replica sees
    the same rows.

    `test_share` is the share of the rows, at the end, that are held out from training. All earlier rows are
    training rows. Expressions in a protocol may use `training` for the number of training rows, as in train =
    "training". With `standardise`, every feature has mean 0 and standard deviation 1 on the training rows. A
    feature that is constant on the training rows becomes 0. `bias` adds a last feature that is 1 on every
    row. `rotate` rotates this feature, too.

    With `encode`, columns of words and dates become features by skrub, and missing numbers become the median
    of their column. The training rows alone determine medians and the encodings of words. Every run reports
    the treatment of each column. Without `encode`, columns with words, dates or missing cells are refused.
    """

    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: DataPath
    label: Annotated[
        Column | None,
        Meta(title="label", description="column of labels: its name, or its position, counted from 0"),
    ] = None
    permute: Annotated[bool, Meta(title="permute rows", description="show the rows in random order")] = False
    standardise: Annotated[
        bool,
        Meta(
            title="standardise",
            description="scale features to mean 0 and standard deviation 1 on the training rows",
        ),
    ] = False
    encode: Annotated[
        bool,
        Meta(
            title="encode",
            description="turn words, dates and missing cells into numbers, by the training rows alone",
        ),
    ] = False
    bias: Annotated[bool, Meta(title="bias", description="add a last feature that is always 1")] = False
    test_share: Annotated[
        float,
        Meta(
            ge=0,
            le=0.9,
            title="test share",
            description="share of the rows, at the end, that are held out from training",
        ),
    ] = 0.0
    header: Header = None
    index: Index = None
    columns: Columns = None
    array: Array = None
    separator: Separator = None
    decimal: Decimal = None

    def __post_init__(self) -> None:
        super().__post_init__()
        make_absolute(self)
        if self.encode and self.label is None:
            raise BadField("label", "missing; name the column of labels, because `encode` must not change it")

    def structure(self) -> MatrixStructure:
        held = self._read_table()
        classes = None if held.labels is None else held.labels.classes
        structure, (n, d) = super().structure(), self.size()
        copies = 2 * (self.repeat or 0) or 1
        return structure._replace(
            row_values="any" if self.standardise else held.values,
            constant_column=d - 1 if self.bias else None,
            named_sizes={"training": copies * self._training_rows(n)},
            held_out=copies * (n - self._training_rows(n)),
            class_count=None if classes is None else len(classes.names),
            random_order=self.permute,
            rows_are_given=True,
            given_labels=held.labels,
        )

    def size(self) -> tuple[int, int]:
        n, d = self._read_table().shape
        return n, d + self.bias

    def row_numbers(self, streams: Streams) -> RowNumbers:
        order, labels = self._drawn_order(streams), self._read_table().labels
        classes = None if labels is None else labels.classes
        return RowNumbers(order, None if classes is None else classes.numbers[order])

    def data_report(self) -> DataReport:
        if self.encode:
            return self._read_table().report
        return table.report(self._table_request(), PLACE)

    def rows(self, streams: Streams) -> Rows:
        order, held = self._drawn_order(streams), self._read_table()
        n, d = held.shape
        rows = np.ones((len(order), n, d + self.bias))
        for of_replica, its_order in zip(rows, order, strict=True):
            features = of_replica[:, :d]
            features[:] = held.features(its_order, self._training_rows(n))
            if self.standardise:
                standardise(features, self._training_rows(n))
        return rows

    def _training_rows(self, n: int) -> int:
        return max(1, n - round(self.test_share * n))

    def _drawn_order(self, streams: Streams) -> NDArray[np.int64]:
        n, _ = self.size()
        if self.permute:
            return streams("order").permutation(n)
        return np.tile(np.arange(n), (len(streams.seeds), 1))

    def _table_request(self) -> table.Request:
        settings = TableSettings(
            self.header, self.index, self.columns, self.array, self.separator, self.decimal
        )
        return table.Request(self.path, settings, self.label)

    def _read_table(self) -> table.Table | EncodedTable:
        return (read_encoded if self.encode else table.read)(self._table_request(), PLACE)
