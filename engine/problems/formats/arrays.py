"""Arrays as numpy writes them: .npy, and .npz with a single array."""

from __future__ import annotations

import io
import lzma
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from engine.problems.formats import PIECE, Format, Found, NotATable, check_type

HEADER = 1 << 14
"""A header ends within so many bytes: numpy refuses to read one of more than 10 000 letters."""

NAMED = 3
"""So many arrays of an archive are named where one is wanted."""


class Header(NamedTuple):
    """What stands before the numbers of an array."""

    shape: tuple[int, ...]
    kind: np.dtype[Any]
    end: int
    """Where the numbers begin."""

    def found_in(self, size: int) -> int:
        """Bytes that are held while the numbers are read from a file of so many bytes.

        Raises: NotATable if they are no numbers, or are not all there.
        """
        check_type(self.kind)
        cells = math.prod(self.shape)
        if min(self.shape, default=0) >= 0 and size - self.end < cells * self.kind.itemsize:
            raise NotATable("it is cut off before its last number")
        copied = 0 if self.kind == np.float64 else self.kind.itemsize
        return cells * (np.dtype(np.float64).itemsize + copied)


def found_npy(file: Path) -> Found:
    """What a .npy file holds. Raises: NotATable."""
    with file.open("rb") as stream:
        header = _header(stream)
        size = os.fstat(stream.fileno()).st_size

    def read() -> NDArray[Any]:
        with file.open("rb") as stream:
            return npy.read_array(stream, allow_pickle=False)

    def pieces() -> Iterator[NDArray[Any]]:
        with file.open("rb") as stream:
            yield from _pieces(stream, header)

    return Found(header.found_in(size), read, pieces, header.shape)


def found_npz(file: Path) -> Found:
    """What a .npz file holds that has one array. Raises: NotATable, zipfile.BadZipFile."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) != 1:
            names = ", ".join(member.filename.removesuffix(".npy") for member in members[:NAMED])
            others = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
            raise NotATable(f"it holds the arrays {names}{others}; it must hold one")
        with archive.open(members[0]) as stream:
            header = _header(stream)

    def read() -> NDArray[Any]:
        with zipfile.ZipFile(file) as archive, archive.open(members[0]) as stream:
            return npy.read_array(stream, allow_pickle=False)

    def pieces() -> Iterator[NDArray[Any]]:
        with zipfile.ZipFile(file) as archive, archive.open(members[0]) as stream:
            yield from _pieces(stream, header)

    return Found(header.found_in(members[0].file_size), read, pieces, header.shape)


def faults() -> tuple[type[Exception], ...]:
    """What numpy and zipfile raise: of passwords and methods unknown to it the latter says RuntimeError."""
    return ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError


NPY, NPZ = Format(found_npy, faults), Format(found_npz, faults)


def _pieces(stream: IO[bytes], header: Header) -> Iterator[NDArray[Any]]:
    """The numbers of an array in a stream, as they lie there."""
    stream.read(header.end)
    size = header.kind.itemsize
    left = math.prod(header.shape) * size
    while left and (piece := stream.read(min(left, PIECE * size))):
        yield np.frombuffer(piece, header.kind)
        left -= len(piece)


def _header(stream: IO[bytes]) -> Header:
    """The header of an array at the beginning of a stream. Raises: NotATable, or ValueError by numpy."""
    beginning = io.BytesIO(stream.read(HEADER))
    version = npy.read_magic(beginning)
    if version not in ((1, 0), (2, 0)):
        raise NotATable(f"version {version[0]}.{version[1]} of the format is for records of several fields")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        shape, _, kind = read(beginning)
    except (SyntaxError, TypeError, tokenize.TokenError) as error:  # it is read as an expression of Python
        raise NotATable("its header makes no sense") from error
    return Header(shape, kind, beginning.tell())
