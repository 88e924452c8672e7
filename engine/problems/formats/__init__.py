"""Formats of tables: the beginning of a file says what it holds, before any number is read.

Files may be packed by gzip. Columns of a pandas DataFrame become numbers or words.
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
"""Content of arrays that hold no real numbers, by the kind of their type. Truth values are 0 and 1."""

PIECE = 1 << 20
"""Numbers that are read or checked at once."""

FLOAT = np.dtype(np.float64).itemsize

LEAST = 2 * FLOAT + 4
"""Bytes for every number in any run: the table, its rows as they are drawn, and those in float32."""


class NotATable(ValueError):
    """A file that holds no table of numbers. Its text is the reason, in one line without a full stop."""


class TooLarge(NotATable):
    """A table that does not fit into the memory that is free. Its text begins behind the name of the file."""


class IndexFinding(NamedTuple):
    """Columns that only count or name the rows."""

    columns: Mapping[int, str] = MappingProxyType({})
    """Position of each index column, and why it is one."""

    doubt: str = ""
    """Why the file alone does not say whether its first column is an index; empty if it does."""


NO_INDEX = IndexFinding()


class TableCells(NamedTuple):
    """Numbers and labels as they stand in a file."""

    numbers: NDArray[np.float64]
    """[n, d]."""

    labels: NDArray[np.float64] | Sequence[str] | None = None
    """Numbers [n] or [n, m], or n words; None if no label is read."""


@dataclass(frozen=True)
class Content:
    """What a file holds, as far as its beginning says."""

    width: int
    """Number of columns."""

    read: Callable[[Sequence[int], int | None], TableCells]
    """Numbers of these columns, and the label column. Raises: NotATable, or what a library raises."""

    rows: int | None = None
    """Number of rows; None if the file must be read to know it."""

    needed: int = 0
    """Bytes that are held while the file is read, the numbers in float64 among them, at most."""

    names: tuple[str, ...] = ()
    """Names of the columns; empty if they have none."""

    has_header: bool | None = None
    """Whether a text file has a header; None in formats where that is no question."""

    index: IndexFinding = NO_INDEX
    empty: tuple[int, ...] = ()
    """Columns at the end without a name and without a value."""

    words: Mapping[int, str] = field(default_factory=dict)
    """Columns that hold words, each with a word and its place as a message quotes it."""

    truth_values: frozenset[int] = frozenset()
    """Columns that hold truth values, which are read as 0 and 1."""

    notes: tuple[str, ...] = ()
    """How the file is read, where that is not the usual way."""

    has_labels: bool = False
    """Whether the format has labels beside the columns."""


class Format(NamedTuple):
    """How files of one kind are read."""

    content: Callable[[Path, TableSettings, int | None], Content]
    """What a file holds, given the number of rows that it must have, if that is known.

    Raises: NotATable, BadField, OSError, or what `faults` says.
    """

    faults: Callable[[], tuple[type[Exception], ...]] = lambda: (ValueError,)
    """What libraries raise of a file that is none of this kind, or is damaged."""

    settings: frozenset[str] = frozenset({"columns", "index"})
    """Settings that mean something for this kind of file."""


def check_type(kind: np.dtype[Any]) -> None:
    """Raises: NotATable for a type that is none of real numbers."""
    if (content := NOT_NUMBERS.get(kind.kind)) is not None:
        raise NotATable(f"it holds {content}, and every entry must be a real number")


def check_finite(numbers: NDArray[np.float64], place: Callable[[int, int], str]) -> None:
    """Raises: NotATable for a number that is missing or infinite; `place` names its row and column."""
    for first in range(0, len(numbers), rows := max(1, PIECE // max(1, numbers.shape[1]))):
        finite = np.isfinite(piece := numbers[first : first + rows])
        if not finite.all():
            row, column = (int(number) for number in np.unravel_index(finite.argmin(), finite.shape))
            raise no_number(piece[row, column], place(first + row, column))


def no_number(value: float, place: str) -> NotATable:
    """What to raise for a number that is missing or infinite."""
    if np.isnan(value):
        return NotATable(f"{place} has no value (empty, NA or nan); every cell must be a finite number")
    return NotATable(f"{place} holds {value}; every cell must be a finite number")


def refuse_settings(settings: TableSettings, file_format: Format, name: str) -> None:
    """Raises: BadField for a setting that means nothing for the format of the file with this name."""
    for name_of_setting, value in asdict(settings).items():
        if value is not None and name_of_setting not in file_format.settings:
            raise BadField(name_of_setting, f"this means nothing for the format of {name}; leave it out")


MAGIC = b"\x1f\x8b"
"""What gzip begins its files with."""

FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What is raised of a file that gzip has not packed to its end."""


def is_packed(file: Path) -> bool:
    """Whether gzip has packed a file."""
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def opened(file: Path) -> io.BufferedReader:
    """A file, unpacked if gzip has packed it."""
    return cast("io.BufferedReader", gzip.open(file)) if is_packed(file) else file.open("rb")


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
"""A number as text. It admits no _ between digits and no digits of other scripts, as Python would."""

BLANKS = " \t\r\n"
"""Signs around cells that are no part of them, for pandas too."""

SHOWN = 40
"""Letters of a cell that a message quotes, at most."""

Place = Callable[[int, int], str]
"""Row and column in words, by the number of the row in a DataFrame and the position in the file."""


def numbers_of(frame: pd.DataFrame, place: Place) -> NDArray[np.float64]:
    """Columns of numbers as a table [n, d]. The names of the columns are their positions in the file.

    Raises: NotATable, with row and column of the first cell that holds no finite number.
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
    """A column as words, without spaces around them. Raises: NotATable for a cell without a value."""
    if (missing := cells.isna().to_numpy()).any():
        row = int(missing.argmax())
        raise NotATable(f"{place(row, column)} has no value (empty, NA or nan), and every row needs a label")
    return [str(cell).strip() for cell in cells]


def numbers_in(words: Sequence[str], decimal: str = ".") -> NDArray[np.float64] | None:
    """Words as numbers, if every word is one."""
    if not all(is_number(word, decimal) for word in words):
        return None
    return np.array([float(word.replace(decimal, ".")) for word in words])


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell holds a number with this decimal sign."""
    if decimal != ".":
        if "." in cell:
            return False
        cell = cell.replace(decimal, ".")
    return NUMBER.fullmatch(cell.strip(BLANKS)) is not None


def quoted_cell(cell: object) -> str:
    """A cell as a message quotes it."""
    return repr(cut(str(cell).strip(), SHOWN))


def _column(cells: pd.Series[Any], column: int, place: Place) -> NDArray[np.float64]:
    """A column as numbers, NaN where a value is missing. Raises: NotATable."""
    from pandas.api import types

    kind: Any = cells.dtype
    if types.is_bool_dtype(kind) or types.is_integer_dtype(kind) or types.is_float_dtype(kind):
        return np.asarray(cells.to_numpy(np.float64, na_value=np.nan))
    numbers = np.full(len(cells), np.nan)
    for row, (cell, missing) in enumerate(zip(cells, cells.isna(), strict=True)):
        if missing:
            continue
        if isinstance(cell, bool) or not is_number(str(cell)):
            raise NotATable(f"{place(row, column)} holds {quoted_cell(cell)}, which is no number")
        numbers[row] = float(str(cell))
    return numbers
