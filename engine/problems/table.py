"""Tables of numbers from the user's files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core import files
from engine.core.memory import free_bytes, in_words
from engine.core.parts import MOST, BadField, BadInput, Values
from engine.problems.class_labels import Labels, labels_of
from engine.problems.data_files import Version, version_of
from engine.problems.data_report import DataReport
from engine.problems.formats import (
    LEAST,
    PIECE,
    Content,
    Format,
    NotATable,
    TooLarge,
    refuse_settings,
)
from engine.problems.layout import Layout, layout_of, name_of
from engine.problems.table_settings import TableSettings

HELD = 4
"""Number of tables that are held, those that were read last."""

MOST_REPORTS = 256
"""Number of reports that are held."""


class Request(NamedTuple):
    """A table as a preset asks for it."""

    path: str
    settings: TableSettings = TableSettings()
    label: int | str | None = None
    """The column of labels; None if the preset names none."""

    is_target: bool = False
    """Whether all columns are labels."""

    rows_wanted: int | None = None
    """Number of instances for which there must be labels."""


class Table(NamedTuple):
    """What a file holds, as a preset asks for it."""

    numbers: NDArray[np.float64]
    """Features [n, d]."""

    values: Values
    """What every feature is."""

    labels: Labels | None
    report: DataReport


Key = tuple[Version, Request]

_held: dict[Key, Table | BadInput] = {}
_reports: dict[Key, DataReport] = {}


def read(request: Request, where: str) -> Table:
    """The table that a preset asks for.

    The beginning of the file says what it holds: what is no table, or does not fit into memory, is refused
    before the numbers are read.

    Args:
        where: the place of the matrix or the target in the preset.

    Raises: BadInput, at the field that is at fault, for a file that is missing, no regular file, unreadable,
    empty, too large or without a table of finite numbers, and for one that cannot be read without a guess.
    """
    key = version_of(request.path, f"{where}.path", "a table of numbers"), request
    if (held := _held.get(key)) is None:
        held = _read_or_refused(key, where)
        _held[key] = held
        for oldest in list(_held)[:-HELD]:
            _held.pop(oldest, None)
    if isinstance(held, BadInput):
        raise BadInput(held.where, held.what)
    return held


def report(request: Request, where: str) -> DataReport:
    """How a table was read. Raises: BadInput as `read` does."""
    key = version_of(request.path, f"{where}.path", "a table of numbers"), request
    if key not in _reports:
        _reports[key] = read(request, where).report
        for oldest in list(_reports)[:-MOST_REPORTS]:
            _reports.pop(oldest, None)
    return _reports[key]


def values_of(numbers: NDArray[np.float64]) -> Values:
    """What every number of a table is."""
    signs = bits = True
    for first in range(0, len(numbers), rows := max(1, PIECE // max(1, numbers.shape[1]))):
        piece = numbers[first : first + rows]
        signs = signs and bool((np.abs(piece) == 1).all())
        bits = bits and bool(((piece == 0) | (piece == 1)).all())
        if not (signs or bits):
            return "any"
    return "signs" if signs else "bits"


def _read_or_refused(key: Key, where: str) -> Table | BadInput:
    """The table, or why there is none. Raises: BadInput for one that may fit into memory another time."""
    (file, *_), request = key
    prefix = f"{file.name} cannot be read as a table of numbers"
    try:
        return _read(file, request, where)
    except TooLarge as error:
        raise BadInput(f"{where}.path", f"{file.name} {error}") from error
    except NotATable as error:
        return BadInput(f"{where}.path", f"{prefix}: {error}" if str(error) else prefix)
    except BadField as error:
        return BadInput(f"{where}.{error.field}", error.what)
    except OSError as error:
        raise BadInput(f"{where}.path", f"{prefix}: {files.reason(error)}") from error


def _read(file: Path, request: Request, where: str) -> Table:
    """Raises: NotATable, BadField."""
    from engine.problems.formats.of_file import format_of  # the readers of all formats, where there is a file

    with _faults(file_format := format_of(file)):
        refuse_settings(request.settings, file_format, file.name)
        content = file_format.content(file, request.settings, request.rows_wanted)
        layout = layout_of(content, request.settings, request.label, request.is_target)
        _check_size(content)
        numbers, column = content.read(layout.features, layout.label)
    if max(numbers.shape) > MOST:
        raise NotATable(f"it has shape {numbers.shape}; take at most {MOST} rows and columns")
    labels = None
    if column is not None:
        labels = labels_of(column, "columns" if request.is_target else "label")
    elif request.is_target:
        labels = labels_of(numbers, "columns")
    numbers.setflags(write=False)
    in_report = labels.numbers if request.is_target and labels is not None else numbers
    report = _report(file, request, content, layout, in_report, labels, where)
    return Table(numbers, values_of(numbers), labels, report)


def _report(
    file: Path,
    request: Request,
    content: Content,
    layout: Layout,
    numbers: NDArray[np.float64],
    labels: Labels | None,
    where: str,
) -> DataReport:
    """How a table was read. `numbers` are its labels if that is all it has."""
    in_table = layout.features or (() if layout.label is None else (layout.label,))
    names = [name for column in in_table if content.names and (name := content.names[column])]
    has_truth_values = not content.truth_values.isdisjoint(layout.features)
    label = classes = ""
    if labels is not None and not request.is_target:
        label = "first in every line" if layout.label is None else name_of(layout.label, content)
    elif labels is not None and labels.are_words and labels.classes is not None:
        classes = labels.classes.in_words
    return DataReport(
        where,
        str(file),
        rows=numbers.shape[0],
        columns=numbers.shape[1],
        header=content.has_header,
        names=" … ".join(dict.fromkeys([names[0], names[-1]])) if names else "",
        label=label,
        classes=classes,
        left_out=layout.left_out,
        notes=(*content.notes, *(["False is 0, True is 1"] if has_truth_values else [])),
    )


@contextmanager
def _faults(file_format: Format) -> Iterator[None]:
    """Turn what the reader of a format raises into NotATable."""
    try:
        yield
    except (NotATable, BadField):
        raise
    except Exception as error:
        if isinstance(error, OSError) or not isinstance(error, (MemoryError, *file_format.faults())):
            raise
        raise NotATable(_reason(error)) from error


def _check_size(content: Content) -> None:
    """Raises: NotATable for what is no table, TooLarge for what fits into no run, if that is known unread."""
    needed = content.needed
    if content.rows is not None:
        shape = content.rows, content.width
        if min(shape) < 1:
            raise NotATable(f"it has shape {shape}; a table has rows and columns")
        if max(shape) > MOST:
            raise NotATable(f"it has shape {shape}; take at most {MOST} rows and columns")
        needed = max(needed, LEAST * math.prod(shape))
    if needed > (free := free_bytes()):
        raise TooLarge(
            f"needs {in_words(needed)} of memory in any run, and {in_words(free)} are free; take fewer rows"
        )


def _reason(error: Exception) -> str:
    """What a library says of a file, without its advice to programmers."""
    if "pickle" in str(error):
        return ""
    return re.split(r"[\n;]|\. ", str(error), maxsplit=1)[0].rstrip(".")
