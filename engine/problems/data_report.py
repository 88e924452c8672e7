"""What was read from a user's file, and how, in one sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.core.texts import message

LABELS = "problem.target"
"""The place of the target in a preset."""

LONGEST = 600
"""Letters of a sentence at most: it is shown in one line."""


class LeftOut(NamedTuple):
    """Columns that are neither features nor the label."""

    columns: str
    """Their names, or positions."""

    reason: str


class DataReport(NamedTuple):
    """How the data of a matrix or target were read."""

    place: str
    """Where a preset says it, as problem.matrix."""

    file: str
    rows: int
    columns: int
    header: bool | None = None
    """Whether the file has a header; None in formats where that is no question."""

    names: str = ""
    """The first and the last name of the columns, if they have names."""

    label: str = ""
    """The column of labels, if there is one."""

    classes: str = ""
    """Which word or number is which class."""

    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """How the file is written, where that is not the usual way."""

    remark: str = ""
    """A sentence of its own, in place of rows and columns."""

    def of_labels(self, targets: int, remark: str, classes: str = "") -> DataReport:
        """How the labels in a column of the same file are learned, as so many targets."""
        return DataReport(
            LABELS, self.file, self.rows, targets, label=self.label, classes=classes, remark=remark
        )

    @property
    def sentence(self) -> str:
        """The report in one line."""
        if self.remark:
            return message(self.remark, LONGEST)
        header = {None: "", True: f"header {self.names}", False: "no header"}[self.header]
        if not header and self.names:
            header = f"columns {self.names}"
        size = f"{_count(self.rows, 'row')} × {_count(self.columns, 'column')}"
        parts = [
            ", ".join(filter(None, (size, header))),
            *self.notes,
            f"label {self.label}" if self.label else "",
            self.classes,
            "; ".join(f"left out: {columns} ({reason})" for columns, reason in self.left_out),
        ]
        name = self.file.rpartition("/")[2]
        kind = "labels " if self.place == LABELS else ""
        return message(f"{kind}{name}: {', '.join(filter(None, parts))}", LONGEST)

    def as_json(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "place": self.place,
            "file": self.file,
            "rows": self.rows,
            "columns": self.columns,
            "header": self.header,
            "label": self.label or None,
            "classes": self.classes or None,
            "left_out": [left_out._asdict() for left_out in self.left_out],
            "notes": [*self.notes],
            "sentence": self.sentence,
        }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
