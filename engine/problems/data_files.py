"""A user's files of instances or labels: their versions, settings and reports."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta
from msgspec.structs import force_setattr

from engine.core import files, texts
from engine.core.parts import MOST, SELDOM, BadField, BadInput, Part
from engine.core.texts import message

LABELS = "problem.target"
"""Name of the target's section in a preset, for messages."""

LONGEST = 600
"""Largest number of characters of a report, which is a single line."""


class LeftOut(NamedTuple):
    """Columns of a file that are used neither as features nor as labels, with the reason."""

    columns: str
    """Names or positions of the columns."""

    reason: str


class DataReport(NamedTuple):
    """Report on how the file of a matrix or of a target was read."""

    place: str
    """Section of the preset that names the file, such as problem.matrix."""

    file: str
    rows: int
    columns: int
    header: bool | None = None
    """Whether the file has a header, or None for formats without headers."""

    names: str = ""
    """Names of the first and the last column, or empty if the columns have no names."""

    label: str = ""
    """Column of labels, or empty if there is none."""

    classes: str = ""
    """Words or numbers that name the classes."""

    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """Unusual properties of the file's format, as phrases."""

    remark: str = ""
    """Sentence that replaces the whole report, or empty."""

    def of_labels(self, targets: int, remark: str, classes: str = "") -> DataReport:
        """Return a report on the labels alone, made from this report on features and labels.

        `targets` is the number of targets made from the label column.
        """
        return DataReport(
            LABELS, self.file, self.rows, targets, label=self.label, classes=classes, remark=remark
        )

    @property
    def sentence(self) -> str:
        if self.remark:
            return message(self.remark, LONGEST)
        header = {None: "", True: f"header {self.names}", False: "no header"}[self.header]
        if not header and self.names:
            header = f"columns {self.names}"
        size = f"{_counted_noun(self.rows, 'row')} × {_counted_noun(self.columns, 'column')}"
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


def _counted_noun(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


MOST_PATH = 4096
"""Largest number of characters that Linux allows in a path."""

MOST_NAME = 1000
"""Largest number of characters of the name of a column or array."""

Position = Annotated[int, Meta(ge=-MOST, lt=MOST)]
Name = Annotated[str, Meta(min_length=1, max_length=MOST_NAME)]
Column = Position | Name
"""Column of a table, given by its position or by its name. Position 0 is the first column, −1 the last."""

FilePath = Annotated[str, Meta(min_length=1, max_length=MOST_PATH)]
DataPath = Annotated[
    FilePath,
    Meta(
        title="path", description=".csv, .tsv, .txt, .parquet, .npy, .npz or .svm file; ~ is your home folder"
    ),
]
LabelPath = Annotated[
    FilePath | None,
    Meta(title="path", description="file of labels; none: use the label column of the instances' file"),
]
Header = Annotated[
    bool | None,
    Meta(
        title="header",
        description="whether the first line has the names of columns; auto: detect this",
        extra=SELDOM,
    ),
]
Index = Annotated[
    bool | Position | Name | None,
    Meta(
        title="index",
        description="column that only counts or names rows; true: the first column, false: none",
        extra=SELDOM,
    ),
]
Columns = Annotated[
    Annotated[tuple[Column, ...], Meta(min_length=1, max_length=MOST)] | None,
    Meta(
        title="columns",
        description="features: names or positions of columns; none: all columns but the index and the label",
        extra=SELDOM,
    ),
]
Array = Annotated[
    Name | None,
    Meta(title="array", description="name of the array, if an .npz file has several", extra=SELDOM),
]
Separator = Annotated[
    Literal[",", ";", "|", "tab", "space"] | None,
    Meta(
        title="separator",
        description="character between the cells of a text file; none: detect it",
        extra=SELDOM,
    ),
]
Decimal = Annotated[
    Literal[".", ","] | None,
    Meta(title="decimal", description="decimal sign of a text file; none: detect it", extra=SELDOM),
]


@dataclass(frozen=True)
class TableSettings:
    """Settings for reading a table. For a setting that is None, the reader of the file chooses."""

    header: bool | None = None
    index: bool | int | str | None = None
    columns: tuple[int | str, ...] | None = None
    array: str | None = None
    separator: str | None = None
    decimal: str | None = None


class Version(NamedTuple):
    """Version of a file on disk: time of its last change in nanoseconds, and size in bytes."""

    file: Path
    modified: int
    size: int


def make_absolute(part: Part) -> None:
    """Make the paths in the fields of a matrix or target absolute. Only for calls in `__post_init__`.

    A ~ at the beginning of a path means the user's home folder. All other relative paths start from the
    working folder. Raises: BadField.
    """
    for field in part.file_fields:
        if (relative := getattr(part, field)) is None:
            continue
        try:
            path = str(Path(relative).expanduser().absolute())
        except (OSError, RuntimeError) as error:  # no working folder, or no such user
            raise BadField(field, f"cannot be found: {files.reason(error)}") from error
        if fault := texts.fault(path):
            raise BadField(field, f"its folder {fault}")
        # Parts are frozen, but nothing has read the old value before `__post_init__` ends.
        force_setattr(part, field, path)


def beside(folder: Path, path: str) -> str:
    """Return a relative path with `folder` before it.

    Absolute paths, and paths that begin with ~, stay unchanged.
    """
    return path if path.startswith("~") else str(folder / path)


def version_of(path: str, where: str, holding: str) -> Version:
    """Return the current version of a file.

    `holding` describes the expected content in error messages. Raises: BadInput at the field `where` if the
    file is missing, empty or not a regular file.
    """
    file = Path(path)
    with files.faults(where, f"{file.name} cannot be read"):
        try:
            status = file.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput(where, f"there is no file {file.absolute()}") from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise BadInput(where, f"{file.absolute()} is {kind}; it must be a file with {holding}")
    if not status.st_size:
        raise BadInput(where, f"{file.name} is empty; it must be a file with {holding}")
    return Version(file, status.st_mtime_ns, status.st_size)
