"""Tables with words, dates and missing cells, whose features are encoded for each set of training rows."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import BadField, BadInput, Values
from engine.core.texts import counted, cut
from engine.problems.data_files import DataReport, LeftOut, Version, version_of
from engine.problems.mixed_columns import LONGEST_NAME, Floats, MixedColumns, in_groups
from engine.problems.mixed_frame import MixedFrame, read_frame
from engine.problems.table import MixedTable, Request, RowLabels, Table, labels_of, read

Indices = NDArray[np.int64]


class EncodedTable(NamedTuple):
    """Labelled rows of a table of words, dates, numbers and missing cells."""

    columns: MixedColumns
    labels: RowLabels
    report: DataReport
    values: Values = "any"
    """Range of the features."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return len(self.labels.numbers), len(self.columns.names)

    def features(self, order: Indices, training: int) -> Floats:
        """Return the features [n, d] of the rows `order` [n].

        The encoding is fitted to the training rows, which are the first `training` of these rows.
        """
        train, rest = order[:training], order[training:]
        train_features, test_features = self.columns.encode(train, rest if len(rest) else train[:1])
        return np.concatenate((train_features, test_features[: len(rest)]))


def read_encoded(request: Request, where: str) -> Table | EncodedTable:
    """Return the table in a file, with words, dates and missing cells encoded as numbers.

    If a table needs encoding, its rows without a label are left out. The request must name the column of
    labels.

    Args:
        where: path of the table's section in messages, such as problem.matrix.

    Raises: BadInput at the faulty field, if the file cannot be read as a table, or if skrub is missing.
    """
    try:
        return read(request, where)
    except MixedTable:
        version = version_of(request.path, f"{where}.path", "a table")
        if (encoded := _encoded_version(version, request, where)) is None:
            raise
        return encoded


@lru_cache(maxsize=2)
def _encoded_version(version: Version, request: Request, where: str) -> EncodedTable | None:
    """Return the table in this version of a file, or None if its format can only hold numbers."""
    if (mixed := read_frame(request, where)) is None:
        return None
    has_label = mixed.labels.notna()
    column = mixed.labels[has_label]
    try:
        cells = column.to_numpy(np.float64)
    except (TypeError, ValueError):
        cells = [*map(str, column)]
    try:
        labels = labels_of(cells, "label")
        columns = MixedColumns(mixed.features[has_label].reset_index(drop=True))
    except BadField as error:
        raise BadInput(f"{where}.{error.field}", error.fault) from error
    except ImportError as error:
        fault = "the table has words or dates, which need skrub; run pip install skrub"
        raise BadInput(f"{where}.encode", fault) from error
    if not columns.names:
        raise BadInput(f"{where}.path", "all columns of features are empty or constant")
    return EncodedTable(columns, labels, _encoding_report(mixed, request, where, columns, labels))


def _encoding_report(
    mixed: MixedFrame, request: Request, where: str, columns: MixedColumns, labels: RowLabels
) -> DataReport:
    unlabelled = int(mixed.labels.isna().sum())
    left_out = [*mixed.left_out]
    if unlabelled:
        left_out.append(LeftOut(counted(unlabelled, "row"), "without a label"))
    return DataReport(
        where,
        str(Path(request.path)),
        rows=len(labels.numbers),
        columns=len(columns.names),
        header=mixed.has_header,
        names=" … ".join(dict.fromkeys([mixed.features.columns[0], mixed.features.columns[-1]])),
        label=f"column {cut(mixed.label, LONGEST_NAME)!r}",
        classes=labels.classes.in_words if labels.are_words and labels.classes is not None else "",
        left_out=tuple(left_out),
        notes=tuple(in_groups(columns.treatments())),
    )
