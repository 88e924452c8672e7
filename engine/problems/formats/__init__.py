"""Readers of the file formats that can hold a table of numbers or words.

Except for SVMlight files, a reader determines the columns of a table before it reads the numbers.
Text files may be compressed by gzip. The columns of a pandas DataFrame become numbers or words.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.core.parts import BadField
from engine.core.texts import cut
from engine.problems.data_files import TableSettings

if TYPE_CHECKING:
    import pandas as pd


NOT_NUMBERS = {
    "c": "complex numbers",
    "M": "dates",
    "m": "time spans",
    "U": "texts",
    "S": "texts",
    "O": "objects",
    "V": "records with several fields",
}
"""Words for the content of arrays that do not hold real numbers, by the `kind` of their dtype.

Truth values count as the numbers 0 and 1.
"""

PIECE = 1 << 20
"""Number of values that are read or checked at a time."""

FLOAT = np.dtype(np.float64).itemsize

LEAST = 2 * FLOAT + 4
"""Bytes of memory that every run needs per number of a table.

They hold the table and the drawn rows in float64, and the rows in float32.
"""


class NotATable(ValueError):
    """Error: a file holds no table of numbers. The error's text is the reason, without a full stop."""


class MissingCell(NotATable):
    """Error: a cell or a label of a table is empty."""


class TooLarge(NotATable):
    """Error: a table does not fit into free memory.

    The error's text has no subject, because messages put the name of the file before the text.
    """


class IndexFinding(NamedTuple):
    """Index columns of a table: columns at its beginning that only count or name the rows."""

    columns: Mapping[int, str] = MappingProxyType({})
    """Index columns by position, each with the reason why it is an index."""

    doubt: str = ""
    """Reason why it is unclear whether a column is an index, or empty if it is clear for all columns."""


NO_INDEX = IndexFinding()


class TableCells(NamedTuple):
    """Numbers and labels that were read from a file."""

    numbers: NDArray[np.float64]
    """Numbers in the requested columns, [n, d]."""

    labels: NDArray[np.float64] | Sequence[str] | None = None
    """Labels: numbers [n] or [n, m], or n words. None if no labels were requested."""


@dataclass(frozen=True)
class Content:
    """Description of the table in a file, and a function that reads the table."""

    width: int
    """Number of columns."""

    read: Callable[[Sequence[int], int | None], TableCells]
    """Function that reads the numbers of the given columns, and the labels of the given label column.

    Raises: NotATable, or errors of a library.
    """

    rows: int | None = None
    """Number of rows, or None if it is unknown before the whole file is read."""

    needed: int = 0
    """Estimate of the memory in bytes that is needed while the file is read."""

    names: tuple[str, ...] = ()
    """Names of the columns. Empty if they have no names."""

    has_header: bool | None = None
    """Whether a text file has a header, or None for other formats."""

    index: IndexFinding = NO_INDEX
    empty: tuple[int, ...] = ()
    """Positions of columns at the end of the table that have neither a name nor values."""

    words: Mapping[int, str] = field(default_factory=dict)
    """Positions of columns that do not hold numbers, each with a description of its content for messages."""

    truth_values: frozenset[int] = frozenset()
    """Positions of columns of truth values, which are read as 0 and 1."""

    notes: tuple[str, ...] = ()
    """Unusual properties of the file's format, as phrases for the report."""

    has_labels: bool = False
    """Whether the file format stores labels separately from the columns."""

    first_rows: tuple[Sequence[str], ...] = ()
    """Cells of the first rows of a text file. Empty for other formats."""

    frame: Callable[[], pd.DataFrame] | None = None
    """Function that reads all cells, including words, dates and missing cells. Column names are positions.

    None for formats that can only hold numbers. Raises: NotATable, or errors of a library.
    """


class Format(NamedTuple):
    """Reader of one file format."""

    content: Callable[[Path, TableSettings, int | None], Content]
    """Function that returns the description of a file's table.

    Its last argument is the number of rows that the problem requires, or None if this is unknown.

    Raises: NotATable, BadField, OSError, or the errors in `faults`.
    """

    faults: Callable[[], tuple[type[Exception], ...]] = lambda: (ValueError,)
    """Function that returns the errors that libraries raise for damaged files and for other formats."""

    settings: frozenset[str] = frozenset({"columns", "index"})
    """Names of the settings that apply to this format."""


def check_type(kind: np.dtype[Any]) -> None:
    """Check that arrays of dtype `kind` hold real numbers. Raises: NotATable."""
    if (content := NOT_NUMBERS.get(kind.kind)) is not None:
        raise NotATable(f"it holds {content}; every entry must be a real number")


def check_finite(numbers: NDArray[np.float64], place: Callable[[int, int], str]) -> None:
    """Check that all numbers in a table are finite. Raises: NotATable.

    `place` returns the text for a row and a column in the message.
    """
    # The check goes piece by piece, because a mask of the whole table would take an eighth of its memory.
    for first in range(0, len(numbers), rows := max(1, PIECE // max(1, numbers.shape[1]))):
        finite = np.isfinite(piece := numbers[first : first + rows])
        if not finite.all():
            row, column = (int(number) for number in np.unravel_index(finite.argmin(), finite.shape))
            raise no_number(piece[row, column], place(first + row, column))


def no_number(value: float, place: str) -> NotATable:
    """Return the error for a cell with the value NaN or ±infinity."""
    if np.isnan(value):
        return MissingCell(f"{place} has no value (empty, NA or nan); every cell must be a finite number")
    return NotATable(f"{place} holds {value}; every cell must be a finite number")


def refuse_settings(settings: TableSettings, file_format: Format, name: str) -> None:
    """Check that the file's format allows every setting that is not None. Raises: BadField."""
    for name_of_setting, value in asdict(settings).items():
        if value is not None and name_of_setting not in file_format.settings:
            raise BadField(
                name_of_setting,
                f"this setting does not apply to the file format of {name}; leave the setting out",
            )


MAGIC = b"\x1f\x8b"
"""First two bytes of gzip files."""

FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""Errors that Python raises for truncated or damaged gzip files."""


def is_packed(file: Path) -> bool:
    """Return whether a file is compressed by gzip."""
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def opened(file: Path) -> io.BufferedReader:
    """Open a file for reading, and decompress it if it is compressed by gzip."""
    return cast("io.BufferedReader", gzip.open(file)) if is_packed(file) else file.open("rb")


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
"""Pattern of a number that is written as text.

Unlike Python's `float`, the pattern allows no _ between digits, and no digits of other scripts.
"""

BLANKS = " \t\r\n"
"""Characters that are stripped from both ends of a cell, as in pandas."""

SHOWN = 40
"""Largest number of characters of a cell in a message."""

Place = Callable[[int, int], str]
"""Function that names the row and column of a cell in a message.

Its arguments are the index of the row in a DataFrame, and the position of the column in the file.
"""


def numbers_of(frame: pd.DataFrame, place: Place) -> NDArray[np.float64]:
    """Return the columns of a DataFrame as numbers [n, d]. Column names must be positions in the file.

    Raises: NotATable, which names the row and column of a cell that is not a finite number.
    """
    if all(dtype.kind in "iufb" for dtype in set(frame.dtypes)):
        numbers: NDArray[np.float64] = frame.to_numpy(np.float64)
    else:
        numbers = np.empty(frame.shape)
        for position, (column, cells) in enumerate(frame.items()):
            numbers[:, position] = _numbers_of_column(cells, int(str(column)), place)
    check_finite(numbers, lambda row, position: place(row, int(frame.columns[position])))
    return numbers


def words_of(cells: pd.Series[Any], column: int, place: Place) -> list[str]:
    """Return the cells of a column as words, stripped of spaces. Raises: MissingCell for an empty cell."""
    if (missing := cells.isna().to_numpy()).any():
        row = int(missing.argmax())
        raise MissingCell(f"{place(row, column)} has no value (empty, NA or nan); every row needs a label")
    return [str(cell).strip() for cell in cells]


def numbers_in(words: Sequence[str], decimal: str = ".") -> NDArray[np.float64] | None:
    """Convert words to numbers, or return None if any word is not a number."""
    if not all(is_number(word, decimal) for word in words):
        return None
    return np.array([float(word.replace(decimal, ".")) for word in words])


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether the text of a cell is a number with the decimal sign `decimal`."""
    if decimal != ".":
        if "." in cell:
            return False
        cell = cell.replace(decimal, ".")
    return NUMBER.fullmatch(cell.strip(BLANKS)) is not None


def quoted_cell(cell: object) -> str:
    """Return a cell's text in quotes, shortened, for messages."""
    return repr(cut(str(cell).strip(), SHOWN))


def _numbers_of_column(cells: pd.Series[Any], column: int, place: Place) -> NDArray[np.float64]:
    """Convert a column to numbers, with NaN for missing values. Raises: NotATable."""
    from pandas.api import types

    kind: Any = cells.dtype
    if types.is_bool_dtype(kind) or types.is_integer_dtype(kind) or types.is_float_dtype(kind):
        return np.asarray(cells.to_numpy(np.float64, na_value=np.nan))
    numbers = np.full(len(cells), np.nan)
    for row, (cell, missing) in enumerate(zip(cells, cells.isna(), strict=True)):
        if missing:
            continue
        if isinstance(cell, bool) or not is_number(str(cell)):
            raise NotATable(f"{place(row, column)} holds {quoted_cell(cell)}, which is not a number")
        numbers[row] = float(str(cell))
    return numbers
