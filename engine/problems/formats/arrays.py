"""Arrays of numpy: .npy files, and one array of an .npz file."""

from __future__ import annotations

import io
import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from engine.core.parts import BadField
from engine.core.texts import listed
from engine.problems.data_files import TableSettings
from engine.problems.formats import (
    FLOAT,
    Content,
    Format,
    MissingCell,
    NotATable,
    TableCells,
    check_finite,
    check_type,
)

HEADER = 1 << 14
"""Upper limit of a header's size in bytes. numpy accepts headers of at most 10 000 characters."""

SUFFIX = ".npy"

Opener = Callable[[], AbstractContextManager[IO[bytes]]]


class Header(NamedTuple):
    """Header of a .npy array, which precedes its numbers."""

    shape: tuple[int, ...]
    kind: np.dtype[Any]
    end: int
    """Position in the file, in bytes, at which the numbers begin."""


def npy_content(file: Path, settings: TableSettings, rows_wanted: int | None = None) -> Content:
    """Describe the array in a .npy file. Raises: NotATable."""
    return _content_of_stream(lambda: file.open("rb"), file.stat().st_size)


def npz_content(file: Path, settings: TableSettings, rows_wanted: int | None = None) -> Content:
    """Describe the only array of an .npz file, or the array that the settings select.

    Raises: NotATable, BadField, zipfile.BadZipFile.
    """
    with zipfile.ZipFile(file) as archive:
        members = {
            member.filename.removesuffix(SUFFIX): member
            for member in archive.infolist()
            if member.filename.endswith(SUFFIX)
        }
    if not members:
        raise NotATable("it is an archive that holds no numpy array")
    names = listed(members)
    if settings.array is None and len(members) != 1:
        raise BadField(
            "array", f"{file.name} holds several arrays: {names}; set `array` to the name of one of them"
        )
    name = settings.array or next(iter(members))
    if name not in members:
        raise BadField("array", f"{file.name} holds no array {name!r}; its arrays are {names}")

    def opened() -> AbstractContextManager[IO[bytes]]:
        return _Member(file, members[name])

    content = _content_of_stream(opened, members[name].file_size)
    return content if len(members) == 1 else replace(content, notes=(f"array {name} of {names}",))


def faults() -> tuple[type[Exception], ...]:
    """Return the errors that numpy and zipfile raise for unusable files.

    zipfile raises RuntimeError for encrypted archives and for unknown compression methods.
    """
    return ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError


NPY = Format(npy_content, faults)
NPZ = Format(npz_content, faults, frozenset({"columns", "index", "array"}))


class _Member(AbstractContextManager[IO[bytes]]):
    """File inside an archive, opened for reading. Closing it also closes the archive."""

    def __init__(self, file: Path, member: zipfile.ZipInfo) -> None:
        self._archive = zipfile.ZipFile(file)
        self._member = member

    def __enter__(self) -> IO[bytes]:
        self._stream = self._archive.open(self._member)
        return self._stream

    def __exit__(self, *error: object) -> None:
        self._stream.close()
        self._archive.close()


def _content_of_stream(opened: Opener, size: int) -> Content:
    """Describe the array in a stream of `size` bytes. Raises: NotATable."""
    with opened() as stream:
        header = _read_header(stream)
    shape = header.shape if len(header.shape) != 1 else (*header.shape, 1)
    if len(shape) != 2:
        raise NotATable(f"it has shape {header.shape}; a table needs two dimensions, rows and columns")
    are_words = header.kind.kind == "U" and shape[1] == 1
    if not are_words:
        check_type(header.kind)
    count = math.prod(shape)
    if size - header.end < count * header.kind.itemsize:
        raise NotATable("the file ends before its last number")

    def read(columns: Sequence[int], label: int | None) -> TableCells:
        with opened() as stream:
            array = npy.read_array(stream, allow_pickle=False)
        if are_words:
            return _label_cells(array.ravel())
        table = array.reshape(shape).astype(np.float64, copy=False)
        numbers = table if [*columns] == [*range(shape[1])] else table[:, columns]
        check_finite(numbers, lambda row, column: _place_in_words(row, columns[column]))
        if label is None:
            return TableCells(numbers)
        labels = table[:, [label]]
        check_finite(labels, lambda row, _: _place_in_words(row, label))
        return TableCells(numbers, labels[:, 0])

    copied = 0 if header.kind == np.float64 else header.kind.itemsize
    truth = frozenset(range(shape[1])) if header.kind == np.bool_ else frozenset()
    words = {0: "words"} if are_words else {}
    needed = count * (FLOAT + copied)
    return Content(shape[1], read, shape[0], needed, words=words, truth_values=truth)


def _label_cells(array: NDArray[np.str_]) -> TableCells:
    words = [word.strip() for word in array.tolist()]
    if not all(words):
        raise MissingCell(f"{_place_in_words(words.index(''), 0)} has no value; every row needs a label")
    return TableCells(np.empty((len(words), 0)), words)


def _place_in_words(row: int, column: int) -> str:
    return f"row {row}, column {column}, both counted from 0,"


def _read_header(stream: IO[bytes]) -> Header:
    """Read the header of the .npy array in a stream. Raises: NotATable, or numpy's ValueError."""
    beginning = io.BytesIO(stream.read(HEADER))
    version = npy.read_magic(beginning)
    if version not in ((1, 0), (2, 0)):
        raise NotATable(
            f"version {version[0]}.{version[1]} of .npy is for structured arrays; save an array of numbers"
        )
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, kind = read(beginning)
    except (SyntaxError, TypeError, tokenize.TokenError) as error:  # numpy parses headers as Python
        raise NotATable("its header is invalid; save the array again by numpy.save") from error
    return Header(shape, kind, beginning.tell())
