"""Journals: files of frames that are only appended to, so that a killed writer loses its last frame at most.

Every frame has a kind of four letters, its length and a checksum of its content. Readers stop at the first
frame that is not whole, which a writer may be writing still. A living writer holds a lock on its file.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.core import files
from engine.core.parts import BadInput

FIRST_LINE, FORMAT = b"hadamard-tui run ", 1
"""Beginning of every file, and the number of the format after it."""

SUFFIX = ".run"
"""Suffix of the files of runs."""

MAGIC = FIRST_LINE + b"%3d\n" % FORMAT

_HEADER = struct.Struct("<4sQI")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_ARRAY = 1
"""Code of arrays in MessagePack."""


class Frame(NamedTuple):
    """Frame of a journal."""

    kind: str
    start: int
    """Place of the frame in its file, in bytes."""

    packed: bytes
    """Content in MessagePack."""

    @property
    def end(self) -> int:
        """Place behind the frame, in bytes."""
        return self.start + _HEADER.size + len(self.packed)

    @property
    def content(self) -> Any:
        """Content of the frame, with its arrays."""
        return unpack(self.packed)


def pack(content: Any) -> bytes:
    """Return a content in MessagePack; arrays keep their type, their shape and every bit."""
    return _ENCODER.encode(content)


def unpack(packed: bytes) -> Any:
    """Return a content that `pack` has packed."""
    return _DECODER.decode(packed)


def _of_array(array: object) -> Any:
    import numpy as np  # lists of runs have no arrays, and are printed before numpy would be there

    if isinstance(array, np.generic):
        return array.item()
    assert isinstance(array, np.ndarray), f"a journal has no place for {type(array)}"
    head = msgspec.msgpack.encode((array.dtype.str, array.shape))
    return msgspec.msgpack.Ext(_ARRAY, struct.pack("<I", len(head)) + head + array.tobytes())


def _to_array(code: int, packed: memoryview) -> Any:
    if code != _ARRAY:
        raise ValueError(f"the journal has a value of unknown kind {code}")
    import numpy as np

    (length,) = struct.unpack_from("<I", packed)
    dtype, shape = msgspec.msgpack.decode(packed[4 : 4 + length])
    return np.frombuffer(bytearray(packed[4 + length :]), dtype).reshape(shape)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_of_array)
_DECODER = msgspec.msgpack.Decoder(ext_hook=_to_array)


class Journal:
    """Journal of a living writer, which holds a lock on its file until `close`."""

    def __init__(self, path: Path) -> None:
        """Begin a new file. Raises: OSError."""
        self.path = path
        self._descriptor = os.open(path, _NEW, 0o644)
        with suppress(OSError):  # some file systems have no locks
            flock(self._descriptor, LOCK_EX)
        try:
            _write(self._descriptor, MAGIC)
        except OSError:
            path.unlink(missing_ok=True)
            self.close()
            raise

    def append(self, kind: str, packed: bytes) -> int:
        """Append a frame and return its place. A frame that does not fit the disk leaves no trace.

        Raises: OSError.
        """
        return _append(self._descriptor, kind, packed)

    def sync(self) -> None:
        """Bring everything written to the disk. Raises: OSError if it is full."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)


def append(path: Path, kind: str, content: Any) -> None:
    """Append a frame to a file that another process may be writing. Raises: OSError.

    What a killed writer began and did not finish is cut off before.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # somebody is writing it: its end is whole, or will be
            flock(descriptor, LOCK_EX | LOCK_NB)
            with suppress(BadInput):
                end = len(MAGIC)
                for frame in frames(path):
                    end = frame.end
                if end < os.fstat(descriptor).st_size:
                    os.ftruncate(descriptor, end)
        _append(descriptor, kind, pack(content))
    finally:
        os.close(descriptor)


def _append(descriptor: int, kind: str, packed: bytes) -> int:
    start = os.fstat(descriptor).st_size
    try:
        _write(descriptor, header(kind, packed) + packed)  # in one call, so that two writers never mix
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, start)
        raise
    return start


def header(kind: str, packed: bytes) -> bytes:
    """Return the header of a frame with this content."""
    name = kind.encode()
    return _HEADER.pack(name, len(packed), zlib.crc32(packed, zlib.crc32(name)))


def _write(descriptor: int, content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def frames(path: Path) -> Iterator[Frame]:
    """Yield the whole frames of a file.

    Raises: OSError. BadInput for a file of another kind or of a newer version.
    """
    with path.open("rb") as file:
        start = check_format(path, file.read(len(MAGIC)))
        while (frame := _read(file, start)) is not None:
            yield frame
            start = frame.end


class Tail:
    """Reader of a file that grows."""

    def __init__(self, path: Path) -> None:
        """Open a file. Raises: BadInput for a file that cannot be read, of another kind or newer version."""
        with files.faults(str(path)):
            self._file = path.open("rb")
        try:
            with files.faults(str(path)):
                self._place = check_format(path, self._file.read(len(MAGIC)))
        except BadInput:
            self.close()
            raise

    def frames(self) -> Iterator[Frame]:
        """Yield the frames that have become whole since the last call."""
        while True:
            self._file.seek(self._place)
            if (frame := _read(self._file, self._place)) is None:
                return
            self._place = frame.end
            yield frame

    def close(self) -> None:
        """Release the file."""
        self._file.close()


def frame_at(path: Path, start: int) -> Frame | None:
    """Return the frame at a place; None if it is not whole. Raises: OSError."""
    with path.open("rb") as file:
        file.seek(start)
        return _read(file, start)


def check_format(path: Path, line: bytes) -> int:
    """Return the place of the first frame behind the first line of a file. Raises: BadInput."""
    if line != MAGIC:
        number = line.removeprefix(FIRST_LINE).strip()
        if line.startswith(FIRST_LINE) and number.isdigit() and int(number) > FORMAT:
            fault = f"a newer version of the program wrote it (format {int(number)}); this one reads {FORMAT}"
            raise BadInput(str(path), fault)
        raise BadInput(str(path), "this is no run of this program")
    return len(MAGIC)


def _read(file: Any, start: int) -> Frame | None:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    name, length, checksum = _HEADER.unpack(header)
    remaining = os.fstat(file.fileno()).st_size - start - _HEADER.size
    if length > remaining:
        return None
    packed = file.read(length)
    if len(packed) < length or zlib.crc32(packed, zlib.crc32(name)) != checksum:
        return None
    return Frame(name.decode(errors="replace"), start, packed)


def is_written(path: Path) -> bool:
    """Return whether a living process of this machine is writing a file. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flock(descriptor, LOCK_SH | LOCK_NB)
        flock(descriptor, LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
