"""Tables of features and labels, read from a user's files."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core import files
from engine.core.expressions import number
from engine.core.memory import free_bytes, in_words
from engine.core.parts import MOST, BadField, BadInput, Values
from engine.core.texts import cut, listed
from engine.problems.data_files import DataReport, LeftOut, TableSettings, Version, version_of
from engine.problems.formats import (
    LEAST,
    PIECE,
    Content,
    Format,
    MissingCell,
    NotATable,
    TooLarge,
    refuse_settings,
)

MOST_CLASSES = 1000
"""Largest number of classes, because each class becomes a target."""


class MixedTable(BadInput):
    """Error: a table has words, dates or missing cells where numbers are needed."""


class WordColumn(BadField):
    """Error: a feature column holds words or dates."""


class LabelClasses(NamedTuple):
    """Classes of the rows of a table."""

    names: tuple[str, ...]
    """Names of the classes, sorted.

    If there are two classes, they are in reverse order, because the target `classes` gives the first one +1.
    """

    numbers: NDArray[np.int64]
    """Index of the class of every row, [n]."""

    @property
    def in_words(self) -> str:
        if len(self.names) == 2:
            return f"{self.names[1]} = −1, {self.names[0]} = +1"
        return self.with_a_target_each

    @property
    def with_a_target_each(self) -> str:
        return f"{len(self.names)} classes, each with a target: {listed(self.names)}"


class RowLabels(NamedTuple):
    """Labels of the rows of a table."""

    numbers: NDArray[np.float64]
    """Labels for m targets, [n, m]. Two words become −1 and +1, and more words become one-hot labels."""

    one_hot: bool = False
    are_words: bool = False
    classes: LabelClasses | None = None
    """Classes that a column of words or integers defines, or None if it defines none."""


def labels_of(column: NDArray[np.float64] | Sequence[str], field: str) -> RowLabels:
    """Return the labels in a column of numbers or words, or in several columns of numbers.

    Raises: BadField for words that cannot be names of classes.
    """
    if isinstance(column, np.ndarray):
        return RowLabels(column.reshape(len(column), -1), classes=_classes_in(column))
    classes = _classes_by_name(np.array(column, dtype=np.str_))
    count, rows = len(classes.names), len(column)
    if count == 1:
        raise BadField(
            field, f"every label is {classes.names[0]!r}, but labels that are words need at least two classes"
        )
    if count > MOST_CLASSES or (count == rows and rows > 2):
        raise BadField(
            field, f"the {rows} labels are {count} different words; these are too many to be names of classes"
        )
    if count == 2:
        return RowLabels(np.where(classes.numbers == 0, 1.0, -1.0)[:, None], False, True, classes)
    one_hot = classes.numbers[:, None] == np.arange(count)
    return RowLabels(one_hot.astype(np.float64), True, True, classes)


def _classes_in(column: NDArray[np.float64]) -> LabelClasses | None:
    """Return the classes that a column of at most MOST_CLASSES different integers defines, or None."""
    if column.size != len(column) or not (column == np.round(column)).all():
        return None
    classes = _classes_by_name(column.ravel())
    return classes if len(classes.names) <= MOST_CLASSES else None


def _classes_by_name(column: NDArray[np.float64] | NDArray[np.str_]) -> LabelClasses:
    labels, numbers = np.unique(column, return_inverse=True)
    names = [label if isinstance(label, str) else number(float(label)) for label in labels.tolist()]
    if len(names) == 2:
        return LabelClasses((names[1], names[0]), 1 - numbers.astype(np.int64))
    return LabelClasses(tuple(names), numbers.astype(np.int64))


LONGEST_NAME = 40
"""Largest number of characters of a column's name in a message."""


class ColumnLayout(NamedTuple):
    """Roles of a table's columns: features, column of labels, and columns that are not used."""

    features: tuple[int, ...]
    label: int | None
    left_out: tuple[LeftOut, ...]


def layout_of(
    content: Content, settings: TableSettings, label: int | str | None, is_target: bool
) -> ColumnLayout:
    """Decide which columns of a file are features, which are labels, and which are not used.

    Args:
        label: the column of labels that the preset names, or None.
        is_target: whether the table holds only labels. Labels that are words must be in a single column.

    Raises: BadField. If the file is ambiguous, the error names the setting that resolves the ambiguity.
    """
    if content.has_labels and label is not None:
        raise BadField(
            "label", "in this file format, every line begins with its label; leave the setting `label` out"
        )
    place = None if label is None else _position_of_column(label, content, "label")
    index = _index_columns(content, settings)
    if place is not None and index.pop(place, "") and settings.index is not None:
        raise BadField(
            "index",
            f"{name_of(place, content)} is set both as `index` and as `label`; leave one of these two out",
        )
    if settings.columns is None:
        features, left_out = _all_features(content, place, index)
    else:
        chosen_index = () if settings.index is None else index
        features, left_out = _chosen_features(content, settings.columns, place, chosen_index)
    if is_target and content.has_labels:
        features = []
    elif is_target and len(features) == 1 and features[0] in content.words:
        features, place = [], features[0]
    _check_words(features, content, is_target, place is not None)
    if not features and not (is_target and (place is not None or content.has_labels)):
        rest = "index" if index else "label"
        raise BadField(rest, f"the {rest} is the only column of the file, so there are no features")
    return ColumnLayout(tuple(features), place, tuple(left_out))


def _all_features(
    content: Content, label: int | None, index: Mapping[int, str]
) -> tuple[list[int], list[LeftOut]]:
    """Return the features, and the columns left out: the index and empty columns. The label is neither."""
    left_out = [LeftOut(name_of(column, content), reason) for column, reason in index.items()]
    if content.empty:
        left_out.append(
            LeftOut(
                _names_in_words(content.empty, content), "empty, because every line ends with a separator"
            )
        )
    aside = {label, *index, *content.empty}
    return [column for column in range(content.width) if column not in aside], left_out


def _chosen_features(
    content: Content, columns: Sequence[int | str], label: int | None, index: Collection[int]
) -> tuple[list[int], list[LeftOut]]:
    """Return the columns that the setting `columns` names, and the columns left out.

    Raises: BadField.
    """
    features = [_position_of_column(column, content, "columns") for column in columns]
    for position, column in enumerate(features):
        if column == label:
            raise BadField("columns", f"{name_of(column, content)} is the label; leave it out of `columns`")
        if column in index:
            raise BadField("columns", f"{name_of(column, content)} is the index; leave it out of `columns`")
        if column in features[:position]:
            raise BadField("columns", f"{name_of(column, content)} is listed twice; list every column once")
    unchosen = set(range(content.width)) - {*features, *content.empty, label}
    reason = "not among `columns`"
    return features, [LeftOut(_names_in_words(sorted(unchosen), content), reason)] if unchosen else []


def name_of(column: int, content: Content) -> str:
    """Return a column's name for messages, or its position if it has no name."""
    name = content.names[column] if content.names else ""
    return f"column {cut(name, LONGEST_NAME)!r}" if name else f"column {column}"


def _names_in_words(columns: Sequence[int], content: Content) -> str:
    if len(columns) == 1:
        return name_of(columns[0], content)
    return f"columns {listed(_short_name(column, content) for column in columns)}"


def _short_name(column: int, content: Content) -> str:
    name = content.names[column] if content.names else ""
    return cut(name, LONGEST_NAME) or str(column)


def _index_columns(content: Content, settings: TableSettings) -> dict[int, str]:
    if settings.index is False:
        return {}
    if settings.index is True:
        return {0: "the index"}
    if settings.index is not None:
        return {_position_of_column(settings.index, content, "index"): "the index"}
    finding = content.index
    if finding.doubt and settings.columns is None:
        raise BadField(
            "index",
            f"{finding.doubt}, so it may be an index or a feature; set index = true if it is an index, or "
            "index = false if it is a feature",
        )
    return dict(finding.columns)


def _position_of_column(column: int | str, content: Content, field: str) -> int:
    """Return the position of a column that is given by position or name. Raises: BadField at `field`."""
    last = content.width - 1
    if isinstance(column, int):
        if not -content.width <= column <= last:
            raise BadField(field, f"there is no column {column}; the positions of columns are 0 … {last}")
        return column % content.width
    if not any(content.names):
        raise BadField(
            field, f"the columns have no names, so there is no column {column!r}; give a position, 0 … {last}"
        )
    places = [place for place, name in enumerate(content.names) if name == column]
    if not places:
        raise BadField(field, f"there is no column {column!r}; the columns are {listed(content.names)}")
    if len(places) > 1:
        at = ", ".join(map(str, places))
        raise BadField(
            field, f"{len(places)} columns have the name {column!r}; give the position of one of them: {at}"
        )
    return places[0]


def _check_words(features: Sequence[int], content: Content, is_target: bool, has_label: bool) -> None:
    column = next((column for column in features if column in content.words), None)
    if column is None:
        return
    holds = f"{name_of(column, content)} holds {content.words[column]}"
    if is_target:
        raise BadField("columns", f"{holds}; list a single column of words, or only columns of numbers")
    if has_label:
        raise WordColumn("columns", f"{holds}; list only columns of numbers")
    choice = repr(content.names[column]) if content.names and content.names[column] else str(column)
    raise BadField(
        "label",
        f"{holds}; set label = {choice} if they are the labels, or list only columns of numbers in `columns`",
    )


HELD = 4
"""Number of recently read tables that are kept in memory."""

MOST_REPORTS = 256
"""Number of reports that are kept in memory."""


class Request(NamedTuple):
    """Request of a preset for a table: which file to read, and how."""

    path: str
    settings: TableSettings = TableSettings()
    label: int | str | None = None
    """Column of labels, or None if the preset names none."""

    is_target: bool = False
    """Whether all columns are labels."""

    rows_wanted: int | None = None
    """Number of instances that need labels, or None if the table holds the instances."""


class Table(NamedTuple):
    """Features and labels that were read from a file."""

    numbers: NDArray[np.float64]
    """Features [n, d]."""

    values: Values
    """Range of the features: "signs" (−1 and +1), "bits" (0 and 1) or "any"."""

    labels: RowLabels | None
    report: DataReport
    layout: ColumnLayout
    headings: Sequence[str]
    """Names of all columns of the file. Empty if the file has no names."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        n, d = self.numbers.shape
        return n, d

    def features(self, order: NDArray[np.int64], training: int) -> NDArray[np.float64]:
        """Return the features [n, d] of the rows `order` [n]. `training` has no effect."""
        return self.numbers[order]

    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the features. A feature without a name is named by its position."""
        headings = {place: self.headings[place] for place in self.layout.features} if self.headings else {}
        return tuple(headings.get(place) or f"column {place}" for place in self.layout.features)


Key = tuple[Version, Request]

_held: dict[Key, Table | BadInput] = {}
_reports: dict[Key, DataReport] = {}


def read(request: Request, where: str) -> Table:
    """Return the table that a preset requests.

    The beginning of the file determines how the file is read. It may also show that the file holds no table,
    or that the table does not fit into memory. The file is then refused before its numbers are read.

    Args:
        where: section of the matrix or the target in the preset, for messages.

    Raises: BadInput at the faulty field, if the file is missing, unreadable, empty, too large or ambiguous,
    or has no table of finite numbers. The error is a MixedTable if cells are missing, or if the file has a
    column of labels, and a feature column holds words or dates.
    """
    key = version_of(request.path, f"{where}.path", "a table of numbers"), request
    if (held := _held.get(key)) is None:
        held = _read_or_refused(key, where)
        _held[key] = held
        # Errors are cached as well, because detecting them again would take as long as the first time.
        for oldest in list(_held)[:-HELD]:
            _held.pop(oldest, None)
    if isinstance(held, BadInput):
        raise type(held)(held.where, held.fault)
    return held


def report(request: Request, where: str) -> DataReport:
    """Return the report on how a table was read. Raises: BadInput as `read` does."""
    key = version_of(request.path, f"{where}.path", "a table of numbers"), request
    if key not in _reports:
        _reports[key] = read(request, where).report
        for oldest in list(_reports)[:-MOST_REPORTS]:
            _reports.pop(oldest, None)
    return _reports[key]


def values_of(numbers: NDArray[np.float64]) -> Values:
    """Return the range of numbers: "signs" (−1 and +1), "bits" (0 and 1) or "any"."""
    signs = bits = True
    for first in range(0, len(numbers), rows := max(1, PIECE // max(1, numbers.shape[1]))):
        piece = numbers[first : first + rows]
        signs = signs and bool((np.abs(piece) == 1).all())
        bits = bits and bool(((piece == 0) | (piece == 1)).all())
        if not (signs or bits):
            return "any"
    return "signs" if signs else "bits"


def _read_or_refused(key: Key, where: str) -> Table | BadInput:
    """Return the table, or an error with the reason why the file holds no usable table.

    Raises: BadInput for faults that may be temporary, such as a lack of memory.
    """
    (file, *_), request = key
    prefix = f"{file.name} cannot be read as a table of numbers"
    try:
        return _read_table(file, request, where)
    except TooLarge as error:
        raise BadInput(f"{where}.path", f"{file.name} {error}") from error
    except NotATable as error:
        refusal = MixedTable if isinstance(error, MissingCell) else BadInput
        return refusal(f"{where}.path", f"{prefix}: {error}" if str(error) else prefix)
    except BadField as error:
        refusal = MixedTable if isinstance(error, WordColumn) else BadInput
        return refusal(f"{where}.{error.field}", error.fault)
    except OSError as error:
        raise BadInput(f"{where}.path", f"{prefix}: {files.reason(error)}") from error


def _read_table(file: Path, request: Request, where: str) -> Table:
    from engine.problems.formats.of_file import format_of  # imports all readers, so only if needed

    with reading_faults(file_format := format_of(file)):
        refuse_settings(request.settings, file_format, file.name)
        content = file_format.content(file, request.settings, request.rows_wanted)
        layout = layout_of(content, request.settings, request.label, request.is_target)
        check_size(content)
        numbers, column = content.read(layout.features, layout.label)
    if max(numbers.shape) > MOST:
        raise NotATable(f"it has shape {numbers.shape}; take at most {MOST} rows and at most {MOST} columns")
    labels = None
    if column is not None:
        labels = labels_of(column, "columns" if request.is_target else "label")
    elif request.is_target:
        labels = labels_of(numbers, "columns")
    numbers.setflags(write=False)
    in_report = labels.numbers if request.is_target and labels is not None else numbers
    report = _data_report(file, request, content, layout, in_report, labels, where)
    return Table(numbers, values_of(numbers), labels, report, layout, content.names or ())


def _data_report(
    file: Path,
    request: Request,
    content: Content,
    layout: ColumnLayout,
    numbers: NDArray[np.float64],
    labels: RowLabels | None,
    where: str,
) -> DataReport:
    """Return the report on how a table was read.

    `numbers` are the labels if the table contains only labels, and otherwise the features.
    """
    in_table = layout.features or (() if layout.label is None else (layout.label,))
    names = [name for column in in_table if content.names and (name := content.names[column])]
    has_truth_values = not content.truth_values.isdisjoint(layout.features)
    label = classes = ""
    if labels is not None and not request.is_target:
        label = "at the beginning of every line" if layout.label is None else name_of(layout.label, content)
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
        notes=(*content.notes, *(["False becomes 0, True becomes 1"] if has_truth_values else [])),
    )


@contextmanager
def reading_faults(file_format: Format) -> Iterator[None]:
    """Inside the block, convert errors that the libraries of a file format raise to NotATable."""
    try:
        yield
    except (NotATable, BadField):
        raise
    except Exception as error:
        if isinstance(error, OSError) or not isinstance(error, (MemoryError, *file_format.faults())):
            raise
        raise NotATable(_first_sentence(error)) from error


def check_size(content: Content) -> None:
    """Check the size of a table before it is read. Raises: NotATable; TooLarge if memory is too small."""
    needed = content.needed
    if content.rows is not None:
        shape = content.rows, content.width
        if min(shape) < 1:
            raise NotATable(f"it has shape {shape}; a table needs at least one row and one column")
        if max(shape) > MOST:
            raise NotATable(f"it has shape {shape}; take at most {MOST} rows and at most {MOST} columns")
        needed = max(needed, LEAST * math.prod(shape))
    if needed > (free := free_bytes()):
        raise TooLarge(
            f"needs {in_words(needed)} of memory, but only {in_words(free)} are free; take fewer rows"
        )


def _first_sentence(error: Exception) -> str:
    """Return the first sentence of a library's error message, or "" if the message is about pickle.

    The rest, and messages about pickle, are advice to programmers.
    """
    if "pickle" in str(error):
        return ""
    return re.split(r"[\n;]|\. ", str(error), maxsplit=1)[0].rstrip(".")
