"""Reader of text tables, such as .csv and .tsv files, by pandas. Files may be compressed by gzip."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.core.memory import free_bytes, in_words
from engine.core.parts import MOST
from engine.problems import formats
from engine.problems.data_files import TableSettings
from engine.problems.formats import (
    BLANKS,
    LEAST,
    PIECE,
    Content,
    Format,
    NotATable,
    TableCells,
    TooLarge,
    check_finite,
    numbers_in,
    numbers_of,
    quoted_cell,
    refuse_settings,
    svmlight,
    words_of,
)
from engine.problems.formats.dialect import (
    COMMENTS,
    MISSING,
    SEPARATORS_IN_WORDS,
    Dialect,
    dialect_of,
    records_of,
    truth_values_in,
    words_in,
)

if TYPE_CHECKING:
    import pandas as pd

SAMPLE, FEWEST_LINES, MOST_LINES = 1 << 16, 5, 1000
"""Limits of the sample of first lines that determines the dialect.

The sample ends when it has more than SAMPLE characters and at least FEWEST_LINES lines, or MOST_LINES lines.
"""

LONGEST_LINE = 1 << 29
"""Largest number of characters of a line. Even a row of 2^24 numbers with all their digits is shorter."""

FEWEST_ROWS = 64
"""Least number of rows that pandas reads at a time, because every such read costs some time per column."""

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Encodings of text files, by the byte order mark at the beginning of the file."""


def content(file: Path, settings: TableSettings, rows_wanted: int | None = None) -> Content:
    """Describe the table in a text file, from the file's first lines. Raises: NotATable, BadField."""
    with _opened_as_text(file) as stream:
        lines = list(_first_lines(stream))
    if svmlight.has_its_form(lines):
        refuse_settings(settings, svmlight.SVMLIGHT, file.name)
        return svmlight.content(file, settings)

    def has_extra_record() -> bool | None:
        if rows_wanted is None:
            return None
        return {rows_wanted: False, rows_wanted + 1: True}.get(_count_records(file))

    suffix = Path(file.name.removesuffix(".gz")).suffix.lower()
    dialect = dialect_of(lines, settings, suffix, has_extra_record)

    def read(columns: Sequence[int], label: int | None) -> TableCells:
        return _read_cells(file, dialect, columns, label)

    return Content(
        dialect.width,
        read,
        needed=LEAST * dialect.width * _estimated_rows(file, dialect, lines),
        names=dialect.names or (),
        has_header=dialect.has_header,
        index=dialect.index,
        empty=dialect.empty,
        truth_values=frozenset(truth_values_in(dialect)),
        words={column: f"words such as {quoted_cell(word)}" for column, word in words_in(dialect)},
        notes=tuple(_dialect_notes(dialect, lines, suffix)),
        first_rows=dialect.rows,
        frame=lambda: next(_frames_of_rows(file, dialect, None, MOST)),
    )


def first_lines(file: Path, count: int) -> list[str]:
    """Return up to `count` lines from the beginning of a file. Raises: NotATable."""
    with _opened_as_text(file) as stream:
        return list(itertools.islice(_first_lines(stream), count))


def faults() -> tuple[type[Exception], ...]:
    """Return the errors that pandas, scikit-learn and gzip raise for unusable files."""
    return ValueError, *formats.FAULTS


TEXT = Format(content, faults, frozenset({"header", "index", "columns", "separator", "decimal"}))


@contextmanager
def _opened_as_text(file: Path) -> Iterator[IO[str]]:
    """Open a file as decompressed and decoded text. Lines keep their line breaks. Raises: NotATable."""
    with formats.opened(file) as stream:
        beginning = stream.peek(4)[:4]
        encoding = next((name for mark, name in MARKS.items() if beginning.startswith(mark)), "utf-8")
        try:
            yield io.TextIOWrapper(stream, encoding, newline="")
        except UnicodeDecodeError as error:
            raise NotATable("it is not text in UTF-8; save it in UTF-8") from error


def _first_lines(stream: IO[str]) -> Iterator[str]:
    """Yield the lines from which a file's dialect is determined. Raises: NotATable."""
    letters = 0
    for number in range(MOST_LINES):
        line = stream.readline(LONGEST_LINE)
        letters += len(line)
        if "\0" in line:
            raise NotATable("it is not text in UTF-8")
        if len(line) == LONGEST_LINE:
            raise NotATable(f"line {number + 1} has more than {LONGEST_LINE} characters")
        if not line:
            return
        yield line
        if letters > SAMPLE and number + 1 >= FEWEST_LINES:
            return


def _estimated_rows(file: Path, dialect: Dialect, lines: Sequence[str]) -> int:
    """Estimate the number of rows of a file from its size and the mean length of the rows in `lines`.

    For a compressed file, return the number of rows in `lines`, because the size of the text is unknown.
    """
    letters, before = (sum(map(len, part)) for part in (lines[dialect.lines :], lines[: dialect.lines]))
    rows = len(lines) - dialect.lines
    if formats.is_packed(file):
        return rows
    return round(rows * max(1.0, (file.stat().st_size - before) / letters))


def _count_records(file: Path) -> int:
    """Count the lines of a file, including the header, but not empty lines and comments."""
    with _opened_as_text(file) as stream:
        return sum(bool(line.strip(BLANKS)) and not line.startswith(COMMENTS) for line in stream)


def _read_cells(file: Path, dialect: Dialect, columns: Sequence[int], label: int | None) -> TableCells:
    if dialect.width == 1:
        _check_no_gaps(file, dialect)
    blocks: list[NDArray[np.float64]] = []
    words: list[str] = []
    count, free = 0, free_bytes()
    for frame in _frames_of_rows(file, dialect, label, max(FEWEST_ROWS, PIECE // dialect.width)):
        place = _Place(file, dialect, count)
        _check_empty_columns(frame, dialect, place)
        features = frame if [*columns] == [*frame.columns] else frame[[*columns]]
        blocks.append(numbers_of(features, place))
        if label is not None:
            words += words_of(frame[label], label, place)
        count += len(frame)
        if (least := LEAST * count * max(1, len(columns))) > free:
            raise TooLarge(
                f"needs more than {in_words(least)} of memory, but only {in_words(free)} are free; take "
                "fewer rows"
            )
    numbers = np.concatenate(blocks)
    if label is None:
        return TableCells(numbers)
    if (labels := numbers_in(words, dialect.decimal)) is None:
        return TableCells(numbers, words)
    check_finite(labels[:, None], lambda row, _: _Place(file, dialect, 0)(row, label))
    return TableCells(numbers, labels)


def _frames_of_rows(file: Path, dialect: Dialect, words: int | None, rows: int) -> Iterator[pd.DataFrame]:
    """Yield the cells of a file, up to `rows` rows at a time. Column names are positions in the file.

    Args:
        words: position of a column whose cells stay text, or None.

    Raises: NotATable, or errors of pandas.
    """
    import pandas as pd

    with _opened_at_first_row(file, dialect) as stream:
        try:
            for frame in pd.read_csv(
                stream,
                sep=r"\s+" if dialect.separator == " " else dialect.separator,
                decimal=dialect.decimal,
                header=None,
                skipinitialspace=True,
                # pandas uses the same list of missing values as the dialect, because its own list can change.
                keep_default_na=False,
                na_values=[*MISSING],
                low_memory=False,
                chunksize=rows,
                dtype=None if words is None else {words: str},
            ):
                if frame.shape[1] != dialect.width:
                    raise _ragged_row_error(file, dialect)
                yield frame
        except pd.errors.ParserError as error:
            if "EOF inside string" in str(error):
                raise NotATable("a quotation mark is not closed") from error
            raise _ragged_row_error(file, dialect) from error
        except pd.errors.EmptyDataError as error:
            raise NotATable("it has no rows") from error


@contextmanager
def _opened_at_first_row(file: Path, dialect: Dialect) -> Iterator[IO[str]]:
    with _opened_as_text(file) as stream:
        for _ in range(dialect.lines):
            stream.readline()
        yield stream


class _Place:
    """Function that returns the line and column of a cell, for messages. Each call rereads the file."""

    def __init__(self, file: Path, dialect: Dialect, first: int) -> None:
        """Store the file, its dialect, and the number `first` of rows before the chunk that is checked."""
        self._file, self._dialect, self._first = file, dialect, first

    def __call__(self, row: int, column: int) -> str:
        """Return the line and the column of a cell as text.

        Raises: NotATable if the cell's row has more or fewer cells than the table has columns.
        """
        with _opened_at_first_row(self._file, self._dialect) as stream:
            records = records_of(stream, self._dialect.separator)
            line, cells = next(itertools.islice(records, self._first + row, None), (0, ()))
        if not cells:
            return f"row {self._first + row + 1}, {self._dialect.name(column)},"
        if len(cells) != self._dialect.width:
            raise _row_width_error(line, cells, self._dialect)
        return f"line {self._dialect.lines + line}, {self._dialect.name(column)},"


def _ragged_row_error(file: Path, dialect: Dialect) -> NotATable:
    """Return the error for a file in which a row has more or fewer cells than the table has columns."""
    with _opened_at_first_row(file, dialect) as stream:
        for line, cells in records_of(stream, dialect.separator):
            if len(cells) != dialect.width:
                return _row_width_error(line, cells, dialect)
    return NotATable("its rows cannot be split into cells")


def _row_width_error(line: int, cells: Sequence[str], dialect: Dialect) -> NotATable:
    return NotATable(
        f"line {dialect.lines + line} has {_cells_in_words(len(cells))}, but all rows need {dialect.width}"
    )


def _cells_in_words(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _check_empty_columns(frame: Any, dialect: Dialect, place: _Place) -> None:
    for column in dialect.empty:
        if (filled := frame[column].notna().to_numpy()).any():
            where = place(int(filled.argmax()), column)
            raise NotATable(
                f"{where} holds a value, but this unnamed column is empty in the first rows; "
                "name the column, or remove the value"
            )


def _check_no_gaps(file: Path, dialect: Dialect) -> None:
    """Check that a table with one column has no empty line, except at its end.

    An empty line before the end would be a missing value. Raises: NotATable.
    """
    gap = 0
    with _opened_at_first_row(file, dialect) as stream:
        for number, line in enumerate(stream, dialect.lines + 1):
            if not line.strip(BLANKS):
                gap = gap or number
            elif gap:
                raise NotATable(
                    f"line {gap} is empty, but a file with a single column needs a value in every line"
                )


def _dialect_notes(dialect: Dialect, lines: Sequence[str], suffix: str) -> Iterator[str]:
    if dialect.width > 1 and dialect.separator != ("\t" if suffix == ".tsv" else ","):
        yield f"separated by {SEPARATORS_IN_WORDS[dialect.separator]}"
    if dialect.decimal != ".":
        yield "decimal commas"
    if any('"' in line for line in lines[dialect.lines :]):
        yield "cells in quotes"
    if dialect.comments:
        counted = "1 line" if dialect.comments == 1 else f"{dialect.comments} lines"
        in_comment = " with the names of the columns" if dialect.names and not dialect.has_header else ""
        yield f"{counted} of comment{in_comment} before the table"
