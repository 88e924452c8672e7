"""Reader of sparse tables with lines `label index:value …`, the format of SVMlight and LIBSVM."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.problems import formats
from engine.problems.data_files import TableSettings
from engine.problems.formats import (
    LEAST,
    Content,
    Format,
    NotATable,
    TableCells,
    check_finite,
    is_number,
    quoted_cell,
)

ROW = re.compile(r"[^\s:,;]+([ \t]+(qid|\d+):\S+)*\s*(#.*)?")
"""Pattern of a line: a label, then index:value pairs. The line of an all-zero row has no pairs."""


def has_its_form(lines: Sequence[str]) -> bool:
    """Return whether all lines are in SVMlight format, and at least one has index:value pairs."""
    rows = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return any(":" in row for row in rows) and all(ROW.fullmatch(row) for row in rows)


def content(file: Path, settings: TableSettings, rows_wanted: int | None = None) -> Content:
    """Read a sparse table, and describe it. Raises: NotATable, or errors of scikit-learn."""
    from sklearn.datasets import load_svmlight_file  # type: ignore[import-untyped]

    with formats.opened(file) as stream:
        try:
            sparse, labels, queries = load_svmlight_file(stream, query_id=True)
        except ValueError:
            _check_labels(file)
            raise
        stream.seek(0)
        counts_from_0 = re.search(rb"[ \t]0:", stream.read()) is not None
    rows, width = sparse.shape

    def read(columns: Sequence[int], label: int | None) -> TableCells:
        numbers = sparse[:, [*columns]].toarray().astype(np.float64, copy=False)
        check_finite(numbers, lambda row, column: f"row {row + 1}, feature {columns[column]},")
        check_finite(labels[:, None], lambda row, _: f"the label of row {row + 1}")
        return TableCells(numbers, labels)

    notes = ["SVMlight format", "indices from 0" if counts_from_0 else "indices from 1"]
    if len(queries) and len(set(queries)) > 1:
        notes.append("query ids are ignored")
    return Content(width, read, rows, LEAST * rows * width, notes=tuple(notes), has_labels=True)


def _check_labels(file: Path) -> None:
    with formats.opened(file) as stream:
        for number, line in enumerate(stream, 1):
            label = line.split(b"#")[0].decode(errors="replace").split(maxsplit=1)[:1]
            if label and not is_number(label[0]):
                begins = f"line {number} begins with {quoted_cell(label[0])}"
                raise NotATable(
                    f"{begins}; in SVMlight format, a line begins with a label, which is a single number"
                )


def faults() -> tuple[type[Exception], ...]:
    """Return the errors that scikit-learn and gzip raise for unusable files."""
    return ValueError, *formats.FAULTS


SVMLIGHT = Format(content, faults, frozenset({"columns"}))
