"""Tables of numbers from the user's files: .npy, .npz, .csv and .parquet."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from engine import files, texts
from engine.parts import BadField, BadInput, Values

DataPath = Annotated[str, Meta(min_length=1, title="path", description=".npy, .npz, .csv or .parquet")]


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

    Raises: BadInput, naming `where`, for a file that is missing, unreadable, empty, not numeric, not finite
    or of another format.
    """
    file = Path(path)
    with files.faults(where):
        if not file.is_file():
            raise BadInput(where, f"there is no file {file.absolute()}")
        modified = file.stat().st_mtime_ns
    try:
        return _read(file, modified)
    except BadInput as error:
        raise BadInput(where, error.what) from error


def values_of(table: NDArray[np.float64]) -> Values:
    """What every number of a table is."""
    if (np.abs(table) == 1).all():
        return "signs"
    return "bits" if np.isin(table, (0, 1)).all() else "any"


@lru_cache(maxsize=4)
def _read(file: Path, modified: int) -> NDArray[np.float64]:
    readers = {".npy": _npy, ".npz": _npz, ".csv": _csv, ".parquet": _parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise BadInput("", f"{file.name} is none of the formats that can be read: {', '.join(readers)}")
    try:
        read = np.asarray(reader(file))
        if np.iscomplexobj(read):
            raise BadInput("", f"{file.name} holds complex numbers; every number must be real")
        table = read.astype(np.float64, copy=False)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput("", f"{file.name} cannot be read as a table of numbers{_reason(error)}") from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.size == 0:
        raise BadInput("", f"{file.name} has shape {table.shape}; it must be a table with rows and columns")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise BadInput("", f"{file.name} holds {table[row, column]} at row {row}, column {column}; "
                           "every number must be finite")  # fmt: skip
    table.setflags(write=False)
    return table


def _reason(error: Exception) -> str:
    """What a library says of a file, without its advice to programmers."""
    if "pickle" in str(error):
        return ""
    words = re.split(r"[\n;]|\. ", str(error), maxsplit=1)[0].rstrip(".")
    return f": {words}" if words else ""


def _npy(file: Path) -> object:
    return np.load(file, allow_pickle=False)


def _npz(file: Path) -> object:
    with np.load(file, allow_pickle=False) as archive:
        if len(archive.files) != 1:
            raise BadInput("", f"{file.name} holds the arrays {', '.join(archive.files)}; it must hold one")
        return archive[archive.files[0]]


def _csv(file: Path) -> object:
    """The first line is a header if no cell of it is a number, so that a row with a gap is an error."""
    with file.open(encoding="utf-8-sig") as lines:
        rows = [line for line in lines if line.strip()]
    headed = bool(rows) and not any(_is_number(cell) for cell in rows[0].split(","))
    numbers = rows[headed:]
    return np.loadtxt(numbers, delimiter=",", ndmin=2) if numbers else np.empty((0, 0))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parquet(file: Path) -> object:
    import pyarrow.parquet as parquet

    table = parquet.read_table(file)
    return np.column_stack([column.to_numpy() for column in table.columns])
