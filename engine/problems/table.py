"""Tables of numbers from the user's files: .npy, .npz, .csv and .parquet."""

from __future__ import annotations

import re
import stat
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from engine.core import files, texts
from engine.core.parts import MOST, BadField, BadInput, Values
from engine.problems.formats import Found, NotATable, arrays, columns, commas
from engine.runtime.free_memory import free_bytes, in_words

MOST_PATH = 4096
"""Letters of a path at most: Linux opens none that is longer."""

DataPath = Annotated[
    str,
    Meta(min_length=1, max_length=MOST_PATH, title="path", description=".npy, .npz, .csv or .parquet"),
]

FORMATS = {
    ".npy": arrays.found_npy,
    ".npz": arrays.found_npz,
    ".csv": commas.found,
    ".parquet": columns.found,
}

PIECE = 1 << 20
"""Numbers that are looked at at once."""


class Table(NamedTuple):
    """A table [rows, columns], and what every number of it is."""

    numbers: NDArray[np.float64]
    values: Values


def make_absolute(part: Struct) -> None:
    """Have a part, while it is made, name its file by a `path` that means the same in any folder."""
    try:
        path = str(Path(part.path).absolute())  # type: ignore[attr-defined]
    except OSError as error:  # the working folder is gone
        raise BadField("path", f"cannot be found: {files.reason(error)}") from error
    if fault := texts.fault(path):
        raise BadField("path", f"its folder {fault}")
    force_setattr(part, "path", path)


def read_table(path: str, where: str) -> NDArray[np.float64]:
    """The numbers in a file as a table [rows, columns]; a single column counts as one column.

    Its header is read first: what holds no such table, or does not fit into memory, is refused before the
    numbers are read.

    Raises: BadInput, naming `where`, for a file that is missing, no regular file, unreadable, empty, not
    numeric, not finite, too large or of another format.
    """
    return _table(path, where).numbers


def values_of(path: str, where: str) -> Values:
    """What every number in a file is. Raises: BadInput as `read_table` does."""
    return _table(path, where).values


def _table(path: str, where: str) -> Table:
    file = Path(path)
    with files.faults(where, f"{file.name} cannot be read"):
        try:
            status = file.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput(where, f"there is no file {file.absolute()}") from None
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise BadInput(where, f"{file.absolute()} is {what}; it must be a file with a table of numbers")
    if not status.st_size:
        raise BadInput(where, f"{file.name} is empty; it must be a file with a table of numbers")
    try:
        return _read(file, status.st_mtime_ns, status.st_size)
    except BadInput as error:
        raise BadInput(where, error.what) from error


@lru_cache(maxsize=4)
def _read(file: Path, modified: int, size: int) -> Table:
    """The table of a file that was modified then, and has so many bytes."""
    found_in = FORMATS.get(file.suffix.lower())
    if found_in is None:
        raise BadInput("", f"{file.name} is none of the formats that can be read: {', '.join(FORMATS)}")
    try:
        found = found_in(file)
        _check(file, found)
        table = np.asarray(found.read()).astype(np.float64, copy=False)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput("", f"{file.name} cannot be read as a table of numbers{_reason(error)}") from error
    if table.ndim == 1:
        table = table[:, None]
    _check_shape(file, table.shape)
    values = _values(file, table)
    table.setflags(write=False)
    return Table(table, values)


def _check(file: Path, found: Found) -> None:
    """Raises: BadInput for what is no table, or does not fit into memory, as far as is known unread."""
    if found.shape is not None:
        _check_shape(file, found.shape if len(found.shape) != 1 else (*found.shape, 1))
    if found.needed > (free := free_bytes()):
        what = (
            f"{file.name} needs {in_words(found.needed)} of memory to be read, and {in_words(free)} are free"
        )
        raise BadInput("", f"{what}; take fewer rows")


def _check_shape(file: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or min(shape) < 1:
        raise BadInput("", f"{file.name} has shape {shape}; it must be a table with rows and columns")
    if max(shape) > MOST:
        raise BadInput("", f"{file.name} has shape {shape}; take at most {MOST} rows and columns")


def _values(file: Path, table: NDArray[np.float64]) -> Values:
    """What every number of a table is. Raises: BadInput if one of them is not finite."""
    signs = bits = True
    rows = max(1, PIECE // table.shape[1])
    for first in range(0, len(table), rows):
        piece = table[first : first + rows]
        finite = np.isfinite(piece)
        if not finite.all():
            row, column = np.unravel_index(finite.argmin(), finite.shape)
            what = f"{file.name} holds {piece[row, column]} at row {first + row}, column {column}"
            raise BadInput("", f"{what}, both counted from 0; every number must be finite")
        signs = signs and bool((np.abs(piece) == 1).all())
        bits = bits and bool(((piece == 0) | (piece == 1)).all())
    return "signs" if signs else "bits" if bits else "any"


def _reason(error: Exception) -> str:
    """What a library says of a file, without its advice to programmers."""
    if isinstance(error, OSError | NotATable):
        return f": {files.reason(error)}"
    if "pickle" in str(error):
        return ""
    words = re.split(r"[\n;]|\. ", str(error), maxsplit=1)[0].rstrip(".")
    return f": {words}" if words else ""
