"""Tables of numbers from the user's files: .npy, .npz, .csv and .parquet."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from engine.core import files, texts
from engine.core.free_memory import free_bytes, in_words
from engine.core.parts import MOST, BadField, BadInput, Part, Values
from engine.problems.formats import Found, NotATable, arrays, columns, commas

MOST_PATH = 4096
"""Letters of a path at most: Linux opens none that is longer."""

DataPath = Annotated[
    str,
    Meta(min_length=1, max_length=MOST_PATH, title="path", description=".npy, .npz, .csv or .parquet"),
]

FORMATS = {
    ".npy": arrays.NPY,
    ".npz": arrays.NPZ,
    ".csv": commas.CSV,
    ".parquet": columns.PARQUET,
}

PIECE = 1 << 20
"""Numbers that are looked at at once."""

SMALL = 1 << 20
"""A table of so many numbers is read as soon as it is named, and what is wrong with it is said at once."""

ITEM = np.dtype(np.float64).itemsize

LEAST = 2 * ITEM + 4
"""Bytes for every number in any run: the table, its rows as they are drawn, and those in float32."""

HELD = 4
"""So many tables are held, those that were read last."""


class Table(NamedTuple):
    """A table [rows, columns], and what every number of it is."""

    numbers: NDArray[np.float64]
    values: Values


class Version(NamedTuple):
    """A file that was modified then, and has so many bytes."""

    file: Path
    modified: int
    size: int


_held: dict[Version, Table] = {}


def make_absolute(part: Part) -> None:
    """Have a part, while it is made, name its files by paths that mean the same in any folder."""
    for name in part.file_fields:
        if (given := getattr(part, name)) is None:
            continue
        try:
            path = str(Path(given).absolute())
        except OSError as error:  # the working folder is gone
            raise BadField(name, f"cannot be found: {files.reason(error)}") from error
        if fault := texts.fault(path):
            raise BadField(name, f"its folder {fault}")
        force_setattr(part, name, path)


def read_table(path: str, where: str) -> NDArray[np.float64]:
    """The numbers in a file as a table [rows, columns]; a single column counts as one column.

    Its header is read first: what holds no such table, or does not fit into memory, is refused before the
    numbers are read.

    Raises: BadInput, naming `where`, for a file that is missing, no regular file, unreadable, empty, not
    numeric, not finite, too large or of another format.
    """
    with version_of(path, where) as version:
        return _read(version).numbers


def shape_of(path: str, where: str) -> tuple[int, int]:
    """Rows and columns of the table in a file. Raises: BadInput as `read_table` does.

    What is wrong with the numbers of a large table is found when it is read.
    """
    with version_of(path, where) as version:
        if (shape := _large(version)) is not None:
            return shape
        rows, columns = _read(version).numbers.shape
        return rows, columns


def values_of(path: str, where: str) -> Values:
    """What every number in a file is. Raises: BadInput as `shape_of` does.

    A large table is looked through in pieces, until one of them decides.
    """
    with version_of(path, where) as version:
        if _large(version) is not None:
            return _looked_through(version)
        return _read(version).values


def look(path: str) -> None:
    """Find out of a file what any set-up needs, so that it is known at once then. It may take seconds."""
    with suppress(BadInput):
        values_of(str(Path(path).absolute()), "")


def unread_bytes(path: str, where: str) -> int:
    """Bytes that a file's table takes once it is read; 0 if it is held. Raises: BadInput as `shape_of`."""
    with version_of(path, where) as version:
        shape = _large(version)
        return 0 if shape is None else ITEM * math.prod(shape)


@contextmanager
def version_of(path: str, where: str, holding: str = "a table of numbers") -> Iterator[Version]:
    """A regular file as it is at the moment; what is wrong with it is said of `where`.

    `holding` says what it should hold.
    """
    file = Path(path)
    with files.faults(where, f"{file.name} cannot be read"):
        try:
            status = file.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput(where, f"there is no file {file.absolute()}") from None
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise BadInput(where, f"{file.absolute()} is {what}; it must be a file with {holding}")
    if not status.st_size:
        raise BadInput(where, f"{file.name} is empty; it must be a file with {holding}")
    try:
        yield Version(file, status.st_mtime_ns, status.st_size)
    except BadInput as error:
        raise BadInput(where, error.what) from error


@contextmanager
def _faults(file: Path) -> Iterator[None]:
    """Turn what is raised of a file by what reads its format into one line."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        if not isinstance(error, (OSError, MemoryError, *FORMATS[file.suffix.lower()].faults())):
            raise
        raise BadInput("", f"{file.name} cannot be read as a table of numbers{_reason(error)}") from error


def _large(version: Version) -> tuple[int, int] | None:
    """The shape of a table that is large and not held, by its header; None for any other."""
    if version in _held:
        return None
    found = _found(version)
    _check(version.file, found)
    if found.shape is None or math.prod(found.shape) <= SMALL:
        return None
    return found.shape[0], math.prod(found.shape[1:])


@lru_cache(maxsize=16)
def _found(version: Version) -> Found:
    """What a file holds, by its header."""
    file = version.file
    how = FORMATS.get(file.suffix.lower())
    if how is None:
        raise BadInput("", f"{file.name} is none of the formats that can be read: {', '.join(FORMATS)}")
    with _faults(file):
        return how.found(file)


def _read(version: Version) -> Table:
    """The table of a file, which is held then."""
    if (held := _held.get(version)) is not None:
        return held
    file, found = version.file, _found(version)
    _check(file, found)
    with _faults(file):
        table = np.asarray(found.read()).astype(np.float64, copy=False)
    if table.ndim == 1:
        table = table[:, None]
    _check_shape(file, table.shape)
    if found.shape is not None and math.prod(found.shape) > SMALL and table.size != math.prod(found.shape):
        raise BadInput("", f"{file.name} has lines that are neither empty nor a row of numbers")
    _check_finite(file, table)
    table.setflags(write=False)
    rows = max(1, PIECE // table.shape[1])
    held = Table(table, _kind(table[first : first + rows] for first in range(0, len(table), rows)))
    _held[version] = held
    for oldest in list(_held)[:-HELD]:
        _held.pop(oldest, None)
    return held


@lru_cache(maxsize=16)
def _looked_through(version: Version) -> Values:
    """What every number in a file is, which is not held for that."""
    with _faults(version.file):
        return _kind(_found(version).pieces())


def _kind(pieces: Iterable[NDArray[Any]]) -> Values:
    """What every number is in pieces of a table; no more of them are read than needed."""
    signs = bits = True
    for piece in pieces:
        signs = signs and bool((np.abs(piece) == 1).all())
        bits = bits and bool(((piece == 0) | (piece == 1)).all())
        if not (signs or bits):
            return "any"
    return "signs" if signs else "bits"


def _check(file: Path, found: Found) -> None:
    """Raises: BadInput for what is no table, or too large for any run, as far as is known unread."""
    least = found.needed
    if found.shape is not None:
        _check_shape(file, found.shape if len(found.shape) != 1 else (*found.shape, 1))
        least = max(least, LEAST * math.prod(found.shape))
    if least > (free := free_bytes()):
        what = f"{file.name} needs {in_words(least)} of memory in any run, and {in_words(free)} are free"
        raise BadInput("", f"{what}; take fewer rows")


def _check_shape(file: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or min(shape) < 1:
        raise BadInput("", f"{file.name} has shape {shape}; it must be a table with rows and columns")
    if max(shape) > MOST:
        raise BadInput("", f"{file.name} has shape {shape}; take at most {MOST} rows and columns")


def _check_finite(file: Path, table: NDArray[np.float64]) -> None:
    """Raises: BadInput, with its place, for a number that is not finite."""
    for first in range(0, len(table), rows := max(1, PIECE // table.shape[1])):
        finite = np.isfinite(piece := table[first : first + rows])
        if not finite.all():
            row, column = np.unravel_index(finite.argmin(), finite.shape)
            what = f"{file.name} holds {piece[row, column]} at row {first + row}, column {column}"
            raise BadInput("", f"{what}, both counted from 0; every number must be finite")


def _reason(error: Exception) -> str:
    """What a library says of a file, without its advice to programmers."""
    if isinstance(error, OSError | NotATable):
        return f": {files.reason(error)}"
    if "pickle" in str(error):
        return ""
    words = re.split(r"[\n;]|\. ", str(error), maxsplit=1)[0].rstrip(".")
    return f": {words}" if words else ""
