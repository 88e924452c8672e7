"""Tables with words, dates and missing cells, as features and labels of a diagnosis."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.parts import BadInput
from engine.core.texts import counted, cut
from engine.diagnosis.labelled_table import LabelledTable
from engine.problems.mixed_columns import LONGEST_NAME, MixedColumns, in_groups
from engine.problems.mixed_frame import MixedFrame

FEW_CLASSES = 10
"""Largest number of distinct whole numbers that count as classes by default."""


def labelled(mixed: MixedFrame, file: str, kind: str | None) -> LabelledTable:
    """Return the table of a file whose columns hold numbers, words or dates.

    Features are made of all columns except the label, and do not depend on the label. All rows together
    determine the kinds of columns and the names of features. Medians and encodings of strings are learned
    from the training rows of each split alone. Rows without a label are left out.

    Args:
        file: name of the file.
        kind: "classes" or "numbers". With None, words and up to FEW_CLASSES distinct whole numbers are
            classes.

    Raises: BadInput for unusable labels or features, or a missing skrub.
    """
    has_label = mixed.labels.notna()
    unlabelled = int((~has_label).sum())
    labels, classes = _labels_and_classes(mixed.labels[has_label].reset_index(drop=True), kind)
    features = mixed.features[has_label].reset_index(drop=True)
    try:
        columns = MixedColumns(features)
    except ImportError as error:
        raise BadInput(file, "it has words or dates, which need skrub; run pip install skrub") from error
    notes = [f"column {cut(mixed.label, LONGEST_NAME)!r}: the label"]
    notes += [f"{left_out.columns}: left out ({left_out.reason})" for left_out in mixed.left_out]
    notes += in_groups(columns.treatments())
    if unlabelled:
        notes.append(f"left out: {counted(unlabelled, 'row')} without a label")
    every_row = np.arange(len(features))
    numbers, _ = columns.encode(every_row, every_row[:1])
    return LabelledTable(
        file,
        mixed.label,
        numbers,
        labels,
        columns.names,
        classes,
        tuple(notes),
        columns.encode,
    )


def _labels_and_classes(column: Any, kind: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return labels as numbers, and the names of their classes if they are classes."""
    import pandas as pd

    is_numeric = pd.api.types.is_numeric_dtype(column)
    if kind == "numbers" and not is_numeric:
        raise BadInput("--as numbers", "the labels are words; take --as classes")
    are_few = column.nunique() <= FEW_CLASSES and (not is_numeric or bool((column % 1 == 0).all()))
    if kind == "classes" or (kind is None and (are_few or not is_numeric)):
        codes, names = pd.factorize(column, sort=True)
        return codes.astype(np.float64), tuple(map(str, names))
    return column.to_numpy(np.float64), ()
