"""Numbers and words in the columns of a pandas DataFrame."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.core.texts import cut
from engine.problems.formats import NotATable, check_finite

if TYPE_CHECKING:
    import pandas as pd

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
