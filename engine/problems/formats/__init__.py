"""Formats of files with tables.

The beginning of a file determines its columns before any number is read. Files may be compressed by gzip.
Columns of a pandas DataFrame become numbers or words.
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
    "m": "spans of time",
    "U": "texts",
    "S": "texts",
    "O": "objects",
    "V": "records of several fields",
}
"""Words for the content of arrays without real numbers, by the `kind` of their dtype.

Truth values count as the numbers 0 and 1.
"""

PIECE = 1 << 20
"""Number of values that are read or checked together."""

FLOAT = np.dtype(np.float64).itemsize

LEAST = 2 * FLOAT + 4
"""Bytes per number that every run needs: the table, the drawn rows, and the rows in float32."""


class NotATable(ValueError):
    """A file that holds no table of numbers.

    The text of the error is the reason, in one line without a full stop.
    """


class MissingCell(NotATable):
    """A table in which a cell or a label is empty."""


class TooLarge(NotATable):
    """A table that does not fit into free memory. The text of the error follows the name of the file."""


class IndexFinding(NamedTuple):
    """Columns that only count or name the rows, as far as they are known."""

    columns: Mapping[int, str] = MappingProxyType({})
    """Reason why a column is an index, by the position of the column."""

    doubt: str = ""
    """Reason why it is unclear whether the first column is an index. Empty if it is clear."""


NO_INDEX = IndexFinding()


class TableCells(NamedTuple):
    """Numbers and labels that were read from a file."""

    numbers: NDArray[np.float64]
    """Numbers of the columns, [n, d]."""

    labels: NDArray[np.float64] | Sequence[str] | None = None
    """Numbers [n] or [n, m], or n words, or None if no label is read."""


@dataclass(frozen=True)
class Content:
    """Content of a file, as far as the beginning of the file determines it."""

    width: int
    """Number of columns."""

    read: Callable[[Sequence[int], int | None], TableCells]
    """Function that reads the numbers of the given columns, and the labels of the given label column.

    Raises: NotATable, or errors of a library.
    """

    rows: int | None = None
    """Number of rows, or None if only reading the file determines it."""

    needed: int = 0
    """Upper bound of the memory in bytes while the file is read, including the numbers in float64."""

    names: tuple[str, ...] = ()
    """Names of the columns. Empty if they have no names."""

    has_header: bool | None = None
    """Whether a text file has a header, or None for other formats."""

    index: IndexFinding = NO_INDEX
    empty: tuple[int, ...] = ()
    """Columns at the end without a name and without a value."""

    words: Mapping[int, str] = field(default_factory=dict)
    """Columns without numbers, each with a description of what it holds, for messages."""

    truth_values: frozenset[int] = frozenset()
    """Columns of truth values, which are read as 0 and 1."""

    notes: tuple[str, ...] = ()
    """Unusual properties of how the file is read."""

    has_labels: bool = False
    """Whether the format has labels beside the columns."""

    first_rows: tuple[Sequence[str], ...] = ()
    """Cells of the first rows of a text file; empty for other formats."""


class Format(NamedTuple):
    """Reader of one kind of file."""

    content: Callable[[Path, TableSettings, int | None], Content]
    """Function that returns the content of a file.

    Its last argument is the required number of rows, if known.

    Raises: NotATable, BadField, OSError, or the errors in `faults`.
    """

    faults: Callable[[], tuple[type[Exception], ...]] = lambda: (ValueError,)
    """Function that returns the errors that libraries raise for damaged files and for other kinds of file."""

    settings: frozenset[str] = frozenset({"columns", "index"})
    """Settings that apply to this kind of file."""


def check_type(kind: np.dtype[Any]) -> None:
    """Check that arrays of this dtype hold real numbers. Raises: NotATable."""
    if (content := NOT_NUMBERS.get(kind.kind)) is not None:
        raise NotATable(f"it holds {content}, and every entry must be a real number")


def check_finite(numbers: NDArray[np.float64], place: Callable[[int, int], str]) -> None:
    """Check that numbers are finite. `place` names row and column in the message. Raises: NotATable."""
    # In pieces: a mask of the whole table would take an eighth of its memory.
    for first in range(0, len(numbers), rows := max(1, PIECE // max(1, numbers.shape[1]))):
        finite = np.isfinite(piece := numbers[first : first + rows])
        if not finite.all():
            row, column = (int(number) for number in np.unravel_index(finite.argmin(), finite.shape))
            raise no_number(piece[row, column], place(first + row, column))


def no_number(value: float, place: str) -> NotATable:
    """Return the error for a missing or infinite number."""
    if np.isnan(value):
        return MissingCell(f"{place} has no value (empty, NA or nan); every cell must be a finite number")
    return NotATable(f"{place} holds {value}; every cell must be a finite number")


def refuse_settings(settings: TableSettings, file_format: Format, name: str) -> None:
    """Check that all settings apply to the format of a file. Raises: BadField."""
    for name_of_setting, value in asdict(settings).items():
        if value is not None and name_of_setting not in file_format.settings:
            raise BadField(name_of_setting, f"the format of {name} has no such setting; leave it out")


MAGIC = b"\x1f\x8b"
"""First bytes of gzip files."""

FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""Errors for truncated or damaged gzip files."""


def is_packed(file: Path) -> bool:
    """Return whether a file is compressed by gzip."""
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def opened(file: Path) -> io.BufferedReader:
    """Return an open file, decompressed if it is compressed by gzip."""
    return cast("io.BufferedReader", gzip.open(file)) if is_packed(file) else file.open("rb")


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
"""Pattern of a number as text.

Unlike Python, it allows no _ between digits, and no digits of other scripts.
"""

BLANKS = " \t\r\n"
"""Whitespace that is stripped from both ends of a cell, as in pandas."""

SHOWN = 40
"""Largest number of characters of a cell in a message."""

Place = Callable[[int, int], str]
"""Function that names the row and column of a cell in a message.

Its arguments are the index of the row in a DataFrame, and the position of the column in the file.
"""


def numbers_of(frame: pd.DataFrame, place: Place) -> NDArray[np.float64]:
    """Return columns of numbers as a table [n, d].

    The frame's names of columns are their positions in the file.

    Raises: NotATable, with row and column of the first cell without a finite number.
    """
    if all(kind.kind in "iufb" for kind in set(frame.dtypes)):
        numbers: NDArray[np.float64] = frame.to_numpy(np.float64)
    else:
        numbers = np.empty(frame.shape)
        for position, (column, cells) in enumerate(frame.items()):
            numbers[:, position] = _column(cells, int(str(column)), place)
    check_finite(numbers, lambda row, position: place(row, int(frame.columns[position])))
    return numbers


def words_of(cells: pd.Series[Any], column: int, place: Place) -> list[str]:
    """Return a column as words, without surrounding spaces. Raises: NotATable for a cell without a value."""
    if (missing := cells.isna().to_numpy()).any():
        row = int(missing.argmax())
        raise MissingCell(
            f"{place(row, column)} has no value (empty, NA or nan), and every row needs a label"
        )
    return [str(cell).strip() for cell in cells]


def numbers_in(words: Sequence[str], decimal: str = ".") -> NDArray[np.float64] | None:
    """Return words as numbers, or None if a word is not a number."""
    if not all(is_number(word, decimal) for word in words):
        return None
    return np.array([float(word.replace(decimal, ".")) for word in words])


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell holds a number with this decimal sign."""
    if decimal != ".":
        if "." in cell:
            return False
        cell = cell.replace(decimal, ".")
    return NUMBER.fullmatch(cell.strip(BLANKS)) is not None


def quoted_cell(cell: object) -> str:
    """Return the text of a cell, quoted and shortened for messages."""
    return repr(cut(str(cell).strip(), SHOWN))


def _column(cells: pd.Series[Any], column: int, place: Place) -> NDArray[np.float64]:
    """Return a column as numbers, with NaN for missing values. Raises: NotATable."""
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
