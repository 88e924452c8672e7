"""Tables with words, dates and missing cells, which skrub turns into numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.core.parts import BadInput
from engine.core.texts import cut, reason_of
from engine.diagnosis.labelled_table import LabelledTable

FEW_CLASSES = 10
"""Largest number of different whole numbers that are classes unless the user says otherwise."""

LONGEST_NAME = 40
TREATMENT = {
    "numeric": "as it is",
    "low_cardinality": "one column per word",
    "high_cardinality": "30 columns of its strings",
    "datetime": "year, month, day and time",
}
"""What skrub does with columns, by its names of their kinds."""


def read_mixed(path: Path, label: str, kind: str | None) -> LabelledTable:
    """Return the table of a text file or Parquet file whose columns hold numbers, words or dates.

    Features are made of all columns but the label, which is not looked at. Missing numbers become the median
    of their column. Rows without a label are left out.

    Raises: BadInput for a file that pandas cannot read, a missing label, or a missing skrub.
    """
    try:
        from skrub import TableVectorizer  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise BadInput(
            path.name,
            "it has words, dates or missing cells, which need skrub; run pip install skrub",
        ) from error
    frame = _frame(path)
    column = _label_column(frame, label)
    has_label = frame[column].notna()
    frame, unlabelled = frame[has_label].reset_index(drop=True), int((~has_label).sum())
    labels, classes = _labels(frame[column], kind)
    features = frame.drop(columns=column)
    vectorizer = TableVectorizer()
    numbers = vectorizer.fit_transform(features)
    notes = [f"column {cut(column, LONGEST_NAME)!r}: the label"]
    notes += _treatments(vectorizer, features)
    if unlabelled:
        notes.append(f"{unlabelled} rows without a label are left out")
    numbers = numbers.astype(np.float64)
    numbers = numbers.fillna(numbers.median()).fillna(0.0)
    return LabelledTable(
        path.name, column, numbers.to_numpy(), labels, tuple(map(str, numbers.columns)), classes, tuple(notes)
    )


def _frame(path: Path) -> Any:
    import pandas as pd

    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep=None, engine="python")
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise BadInput(path.name, f"cannot be read as a table: {reason_of(error)}") from error


def _label_column(frame: Any, label: str) -> str:
    """Return the column of a name or of a position."""
    frame.columns = [str(name) for name in frame.columns]
    if label in frame.columns:
        return label
    try:
        return str(frame.columns[int(label)])
    except (ValueError, IndexError) as error:
        raise BadInput("--label", f"there is no column {label!r}") from error


def _labels(column: Any, kind: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return the labels as numbers, and the names of their classes."""
    import pandas as pd

    is_numeric = pd.api.types.is_numeric_dtype(column)
    if kind == "numbers" and not is_numeric:
        raise BadInput("--as numbers", "the labels are words")
    are_few = column.nunique() <= FEW_CLASSES and (not is_numeric or bool((column % 1 == 0).all()))
    if kind == "classes" or (kind is None and (are_few or not is_numeric)):
        codes, names = pd.factorize(column, sort=True)
        return codes.astype(np.float64), tuple(map(str, names))
    return column.to_numpy(np.float64), ()


def _treatments(vectorizer: Any, features: Any) -> Iterator[str]:
    """Yield one sentence per column of the file on what became of it."""
    for name in features.columns:
        kind = vectorizer.column_to_kind_.get(name)
        outputs = len(vectorizer.input_to_outputs_.get(name, ()))
        shown = f"column {cut(name, LONGEST_NAME)!r}"
        if not outputs:
            yield f"{shown}: left out, because it is empty or constant"
            continue
        missing = int(features[name].isna().sum())
        treatment = TREATMENT.get(str(kind), str(kind))
        filled = f"; {missing} missing cells" if missing else ""
        filled += " become the median" if missing and kind == "numeric" else ""
        yield f"{shown}: {kind}, {treatment} ({outputs}){filled}"
