"""Tables with words, dates and missing cells, which skrub turns into numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.core.parts import BadInput
from engine.core.texts import cut, reason_of
from engine.diagnosis.labelled_table import Floats, Indices, LabelledTable

FEW_CLASSES = 10
"""Largest number of distinct whole numbers that count as classes by default."""

WORDS = 40
"""Least number of distinct words with which a column is encoded as strings, not as one column per word."""

LONGEST_NAME = 40
TREATMENT = {
    "numeric": "as it is",
    "low_cardinality": "one column per word",
    "high_cardinality": "30 columns that encode its strings",
    "datetime": "year, month, day and time",
}
"""Encoding of a column, by skrub's name for the kind of column."""


def read_mixed(path: Path, label: str, kind: str | None) -> LabelledTable:
    """Return the table of a text file or Parquet file whose columns hold numbers, words or dates.

    Features are made of all columns except the label, and do not depend on the label. All rows together
    determine the kinds of columns and the names of features. Medians and encodings of strings are learned
    from the training rows of each split alone. Rows without a label are left out.

    Raises: BadInput for a file that pandas cannot read, a missing label, or a missing skrub.
    """
    try:
        vectorizer = _vectorizer()
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
    encoded = vectorizer.fit_transform(features)
    notes = [f"column {cut(column, LONGEST_NAME)!r}: the label"]
    notes += _treatments(vectorizer, features)
    if unlabelled:
        notes.append(f"{unlabelled} rows without a label are left out")
    columns = MixedColumns(features, vectorizer, tuple(encoded.columns))
    every_row = np.arange(len(features))
    numbers, _ = columns.encode(every_row, every_row[:1])
    return LabelledTable(
        path.name,
        column,
        numbers,
        labels,
        tuple(map(str, encoded.columns)),
        classes,
        tuple(notes),
        columns.encode,
    )


class MixedColumns:
    """Columns of a table with words, dates and numbers.

    They are encoded anew for each set of training rows.
    """

    def __init__(self, frame: Any, fitted: Any, names: tuple[str, ...]) -> None:
        """Store a pandas frame, and the kinds of its columns from a vectorizer fitted to all rows.

        Args:
            names: names of the features.
        """
        from skrub import to_datetime  # type: ignore[import-not-found, import-untyped, unused-ignore]

        kinds = fitted.column_to_kind_
        self._names = names
        self._outputs = fitted.input_to_outputs_
        self._strings = [name for name in frame.columns if kinds.get(name) == "high_cardinality"]
        self._others = [name for name in frame.columns if name in kinds and name not in self._strings]
        # Dates are parsed in all rows together, because a few rows may not show which number is the day.
        dates = [name for name in self._others if kinds[name] == "datetime"]
        self._frame = frame.assign(**{name: to_datetime(frame[name]) for name in dates})

    def encode(self, train: Indices, tested: Indices) -> tuple[Floats, Floats]:
        """Return the features [n, d] of training rows and of test rows; training rows determine the encoding.

        Features of words that occur in no training row are 0. Missing numbers become the median of the
        training rows.
        """
        rows = self._encoded(self._others, sys.maxsize, train, tested)
        if self._strings:
            strings = self._encoded(self._strings, 0, train, tested)
            rows = tuple(numbers.join(of_strings) for numbers, of_strings in zip(rows, strings, strict=True))
        fitted, asked = (part.reindex(columns=list(self._names)) for part in rows)
        medians = fitted.median()
        return tuple(part.fillna(medians).fillna(0.0).to_numpy(np.float64) for part in (fitted, asked))

    def _encoded(
        self, columns: list[str], threshold: int, train: Indices, tested: Indices
    ) -> tuple[Any, Any]:
        """Return training and test rows with encoded columns.

        A column with fewer than `threshold` distinct words becomes one column per word.
        """
        vectorizer = _vectorizer(threshold)
        chosen = self._frame[columns]
        fitted = vectorizer.fit_transform(chosen.iloc[train])
        asked = vectorizer.transform(chosen.iloc[tested])
        # skrub numbers the columns of encoded strings with as many digits as the largest number has. A fit to
        # few rows may have fewer columns, and so other names than the fit to all rows.
        renamed = {
            output: name
            for column in columns
            if threshold == 0
            for output, name in zip(
                vectorizer.input_to_outputs_.get(column, ()), self._outputs[column], strict=False
            )
        }
        return fitted.rename(columns=renamed), asked.rename(columns=renamed)


def _vectorizer(threshold: int = WORDS) -> Any:
    """Return a vectorizer that encodes strings with a fixed random seed. It is not fitted yet."""
    from skrub import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        StringEncoder,
        TableVectorizer,
    )

    return TableVectorizer(cardinality_threshold=threshold, high_cardinality=StringEncoder(random_state=0))


def _frame(path: Path) -> Any:
    import pandas as pd

    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep=None, engine="python")
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise BadInput(path.name, f"cannot be read as a table: {reason_of(error)}") from error


def _label_column(frame: Any, label: str) -> str:
    """Return the name of the label column. `label` is a name or a position."""
    frame.columns = [str(name) for name in frame.columns]
    if label in frame.columns:
        return label
    try:
        return str(frame.columns[int(label)])
    except (ValueError, IndexError) as error:
        raise BadInput("--label", f"there is no column {label!r}") from error


def _labels(column: Any, kind: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return the labels as numbers, and the names of their classes if they are classes."""
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
    """Yield one sentence per column of the file, which says how the column is encoded."""
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
        filled += " get the median of the training rows" if missing and kind == "numeric" else ""
        yield f"{shown}: {kind}, {treatment} ({outputs}){filled}"
