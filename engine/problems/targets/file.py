"""The user's own labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from engine.core.parts import BadInput
from engine.core.streams import Streams
from engine.core.texts import counted
from engine.problems import table
from engine.problems.data_files import (
    Array,
    Columns,
    DataReport,
    Decimal,
    Header,
    Index,
    LabelPath,
    Separator,
    TableSettings,
    make_absolute,
)
from engine.problems.matrices import Matrix, Rows
from engine.problems.standardisation import standardise
from engine.problems.table import RowLabels
from engine.problems.targets import Target, TargetStructure

PLACE = "problem.target"


class File(Target, frozen=True, tag="file"):
    """Your own labels, from a separate file or from the file of the instances: one column per target.

    Without a path, the labels are the column `label` of the matrix `file`. A path is relative to the preset
    file. The file is read in the same way as the file of the matrix `file`, with one row per instance. Row i
    of the labels belongs to row i of the matrix's file. If the labels are two words, the first in sorted
    order becomes −1, and the other +1. With more than two words, each word becomes a target, which is 1 for
    the instances with this label and 0 for all other instances. The matrix `bundled` contains labels, which
    need no path. All other matrix families refuse labels from a file, because they draw their own rows. With
    `standardise`, every target has mean 0 and standard deviation 1 on the training rows of the matrix.
    Predicting the mean label then costs a square loss of 1 on these rows.
    """

    file_fields: ClassVar[tuple[str, ...]] = ("path",)

    path: LabelPath = None
    standardise: Annotated[
        bool,
        Meta(
            title="standardise",
            description="scale labels to mean 0 and standard deviation 1 on the training rows",
        ),
    ] = False
    header: Header = None
    index: Index = None
    label_columns: Columns = msgspec.field(default=None, name="columns")
    array: Array = None
    separator: Separator = None
    decimal: Decimal = None

    def __post_init__(self) -> None:
        super().__post_init__()
        make_absolute(self)

    def columns(self, matrix: Matrix) -> int:
        _, targets = self._labels_in_file(matrix).numbers.shape
        return int(targets)

    def check(self, matrix: Matrix) -> None:
        structure = matrix.structure()
        has_labels = self.path is None and structure.given_labels is not None
        if not (structure.rows_are_given or has_labels):
            raise BadInput(
                f"{PLACE}.kind",
                f"labels from a file need instances from a file, but the matrix is {matrix.kind}; "
                'set [problem.matrix] kind = "file"',
            )
        if matrix.repeat is not None:
            raise BadInput(
                "problem.matrix.repeat",
                "rows whose labels come from a file cannot be repeated; leave `repeat` out",
            )
        for name, value in asdict(self._table_settings()).items():
            if self.path is None and value is not None:
                fault = (
                    "this setting is for a file of labels; set `path` to this file, or leave the setting out"
                )
                raise BadInput(f"{PLACE}.{name}", fault)
        n, _ = matrix.shape()
        rows = len(self._labels_in_file(matrix).numbers)
        if rows != n and self.path is not None:
            fault = f"{self.path} has labels for {counted(rows, 'row')}, but the matrix has {n} instances"
            raise BadInput(f"{PLACE}.path", fault)

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        order = matrix.row_numbers(streams).in_file
        assert order is not None, "check() admits no other family"
        labels = self._labels_in_file(matrix).numbers[order]
        if self.standardise:
            training = labels.shape[1] - matrix.structure().held_out
            for of_replica in labels:
                standardise(of_replica, training)
        return labels.swapaxes(1, 2)

    def structure(self, matrix: Matrix) -> TargetStructure:
        labels = self._labels_in_file(matrix)
        if self.standardise:
            return TargetStructure()
        values = table.values_of(labels.numbers)
        return TargetStructure(values, one_hot=labels.one_hot, is_never_zero=values == "signs")

    def data_report(self, matrix: Matrix) -> DataReport | None:
        if self.path is not None:
            return table.report(self._label_request(matrix), PLACE)
        report, labels = matrix.data_report(), self._labels_in_file(matrix)
        assert report is not None, "labels of the matrix come from a file"
        classes = labels.classes.in_words if labels.classes is not None and labels.are_words else ""
        numbers = "standardised" if self.standardise else "numbers, not standardised"
        return report.of_labels(labels.numbers.shape[1], f"labels: {classes or numbers}", classes)

    def _labels_in_file(self, matrix: Matrix) -> RowLabels:
        """Return the labels that a file contains for the rows of the matrix.

        Raises: BadInput for an unusable or missing file.
        """
        if self.path is not None:
            labels = table.read(self._label_request(matrix), PLACE).labels
            assert labels is not None, "all columns are labels"
            return labels
        if (labels := matrix.structure().given_labels) is None:
            raise BadInput(
                f"{PLACE}.path",
                "missing; set a file of labels here, or set `problem.matrix.label` to a column of labels",
            )
        return labels

    def _label_request(self, matrix: Matrix) -> table.Request:
        assert self.path is not None, "a file is named"
        n = matrix.shape()[0] if matrix.structure().rows_are_given else None
        return table.Request(self.path, self._table_settings(), is_target=True, rows_wanted=n)

    def _table_settings(self) -> TableSettings:
        return TableSettings(
            self.header, self.index, self.label_columns, self.array, self.separator, self.decimal
        )
