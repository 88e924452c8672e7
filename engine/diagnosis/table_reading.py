"""Tables to diagnose: files of the user, and data sets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.diagnosis.labelled_frame import FEW_CLASSES, labelled
from engine.diagnosis.labelled_table import LabelledTable
from engine.problems.data_files import TableSettings
from engine.problems.first_rows import first_rows
from engine.problems.mixed_frame import read_frame
from engine.problems.table import MixedTable, Request, Table, read

BUNDLED = {
    "digits": "load_digits",
    "breast-cancer": "load_breast_cancer",
    "wine": "load_wine",
    "diabetes": "load_diabetes",
    "iris": "load_iris",
}
"""Names of scikit-learn's functions that load its data sets, by data set."""

OPTIONS = {
    "data.path": "",
    "data.columns": "--leave-out",
    **{f"data.{name}": f"--{name}" for name in ("label", "header", "index", "array", "separator", "decimal")},
}
"""Command-line options, by the setting of the table that they change."""

Kind = Literal["classes", "numbers"]


def read_table(
    source: str,
    label: int | str | None,
    kind: Kind | None = None,
    settings: TableSettings | None = None,
    omitted: Sequence[int | str] = (),
) -> LabelledTable:
    """Return the table in a file, or a data set of scikit-learn.

    Args:
        label: name or position of the label column; None for data sets of scikit-learn, and for file formats
            that mark the labels.
        kind: kind of the labels. With None, words and up to FEW_CLASSES distinct whole numbers are classes.
        settings: settings for reading a file. With None, the content of the file determines them.
        omitted: names or positions of columns that are neither features nor labels.

    Raises: BadInput for an unusable file, label or column.
    """
    if source in BUNDLED:
        if label is not None:
            raise BadInput("--label", f"{source} has its own labels; leave --label out")
        if omitted or settings not in (None, TableSettings()):
            raise BadInput(
                source, "this data set of scikit-learn is no file; leave out the options for reading a file"
            )
        return _bundled_table(source, kind)
    return _table_of_file(source, label, kind, settings or TableSettings(), omitted)


def _bundled_table(name: str, kind: Kind | None) -> LabelledTable:
    import sklearn.datasets  # type: ignore[import-untyped]

    loaded: Any = getattr(sklearn.datasets, BUNDLED[name])()
    classes = tuple(map(str, loaded.get("target_names", ())))
    if kind == "numbers" or not classes:
        if kind == "classes":
            raise BadInput("--as classes", f"the labels of {name} are numbers, not classes; leave --as out")
        classes = ()
    return LabelledTable(
        name,
        "target",
        np.asarray(loaded.data, np.float64),
        np.asarray(loaded.target, np.float64),
        tuple(map(str, loaded.feature_names)),
        classes,
    )


def _table_of_file(
    path: str,
    label: int | str | None,
    kind: Kind | None,
    settings: TableSettings,
    omitted: Sequence[int | str],
) -> LabelledTable:
    file = str(Path(path).expanduser().absolute())
    try:
        request = _request_without_omitted(file, label, settings, omitted)
        try:
            table = read(request, "data")
        except MixedTable:
            if label is None or (frame := read_frame(request, "data")) is None:
                raise
            return labelled(frame, Path(file).name, kind)
    except BadInput as error:
        raise BadInput(OPTIONS.get(error.where, error.where), error.fault) from error
    if table.labels is None:
        raise BadInput("--label", "name the column of labels, as in --label price")
    return _table_of_numbers(path, table, label, kind)


def _request_without_omitted(
    file: str, label: int | str | None, settings: TableSettings, omitted: Sequence[int | str]
) -> Request:
    """Return the request to read a file's label and its columns, except the omitted columns.

    If `label` is a text of digits, it is the position of the label, unless a column has this name.

    Raises: BadInput for an unusable file, or an omitted column that does not exist.
    """
    first = first_rows(file, settings, "data.path")
    place = None if label is None else first.position(label)
    label = label if place is None else first.reference(place)
    if not omitted or first.question is not None:  # reading the table raises the question again
        return Request(file, settings, label)
    positions = [first.position(column) for column in omitted]
    for column, position in zip(omitted, positions, strict=True):
        if position is None:
            raise BadInput("--leave-out", f"there is no column {column!r}; name columns of the file")
        if position == place:
            raise BadInput("--leave-out", f"column {column!r} is the label; name only features")
    columns = first.columns_without(
        [position for position in positions if position is not None], place, settings
    )
    if not columns:
        raise BadInput("--leave-out", "no column remains as a feature")
    return Request(file, replace(settings, columns=columns), label)


def _table_of_numbers(path: str, table: Table, label: int | str | None, kind: Kind | None) -> LabelledTable:
    """Return the labelled table in a file of numbers.

    Raises: BadInput if the labels cannot be read as the requested `kind`, or are in several columns.
    """
    assert table.labels is not None, "labels were read"
    numbers, classes = table.labels.numbers, table.labels.classes
    is_single = numbers.shape[1] == 1
    if not is_single and not table.labels.one_hot:
        raise BadInput("--label", f"{numbers.shape[1]} columns are labels; name one of them")
    are_classes = classes is not None and (
        table.labels.are_words or len(classes.names) <= FEW_CLASSES or kind == "classes"
    )
    if kind == "numbers":
        if table.labels.are_words:
            words = "" if classes is None else listed(classes.names)
            raise BadInput("--as numbers", f"the labels are words: {words}; take --as classes")
        are_classes = False
    if kind == "classes" and not are_classes:
        raise BadInput(
            "--as classes",
            "the labels cannot be classes: they are not whole numbers, or have too many different values",
        )
    labels = numbers[:, 0]
    if are_classes and classes is not None:
        labels = classes.numbers.astype(np.float64)
    return LabelledTable(
        Path(path).name,
        str(label if label is not None else "label"),
        table.numbers,
        labels,
        table.feature_names(),
        classes.names if are_classes and classes is not None else (),
        (table.report.sentence,),
    )
