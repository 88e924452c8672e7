"""Journals: files to which frames are only appended, so that a killed writer loses at most its last frame.

Every frame has a kind of four letters, its length and a checksum of its content. Readers stop at the first
incomplete frame, because a writer may still be writing it. A running writer holds a lock on its file.
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
"""Beginning of the first line of every journal, and the format number that follows it."""

SUFFIX = ".run"
"""Suffix of the files of runs."""

MAGIC = FIRST_LINE + b"%3d\n" % FORMAT

_HEADER = struct.Struct("<4sQI")
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_ARRAY = 1
"""Code that marks an array in MessagePack."""


class JournalFrame(NamedTuple):
    """One frame of a journal."""

    kind: str
    start: int
    """Offset of the frame from the beginning of its file, in bytes."""

    packed: bytes
    """Content, encoded in MessagePack."""

    @property
    def end(self) -> int:
        return self.start + _HEADER.size + len(self.packed)

    @property
    def content(self) -> Any:
        return unpack(self.packed)


def pack(content: Any) -> bytes:
    """Encode `content` in MessagePack. Arrays keep their dtype and shape, and all bits of their entries."""
    return _ENCODER.encode(content)


def unpack(packed: bytes) -> Any:
    """Decode the result of `pack`."""
    return _DECODER.decode(packed)


def _packed_array(array: object) -> Any:
    import numpy as np  # imported late: lists of runs have no arrays, and must not wait for numpy

    if isinstance(array, np.generic):
        return array.item()
    assert isinstance(array, np.ndarray), f"a journal has no place for {type(array)}"
    head = msgspec.msgpack.encode((array.dtype.str, array.shape))
    return msgspec.msgpack.Ext(_ARRAY, struct.pack("<I", len(head)) + head + array.tobytes())


def _unpacked_array(code: int, packed: memoryview) -> Any:
    if code != _ARRAY:
        raise ValueError(f"the journal has a value of unknown kind {code}")
    import numpy as np

    (length,) = struct.unpack_from("<I", packed)
    dtype, shape = msgspec.msgpack.decode(packed[4 : 4 + length])
    return np.frombuffer(bytearray(packed[4 + length :]), dtype).reshape(shape)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_packed_array)
_DECODER = msgspec.msgpack.Decoder(ext_hook=_unpacked_array)


class Journal:
    """Journal that this process writes. It holds a lock on its file until `close` is called."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, _NEW, 0o644)
        with suppress(OSError):  # some file systems have no locks
            flock(self._descriptor, LOCK_EX)
        try:
            _write_all_bytes(self._descriptor, MAGIC)
        except OSError:
            path.unlink(missing_ok=True)
            self.close()
            raise

    def append(self, kind: str, packed: bytes) -> int:
        """Append a frame, and return its offset in the file in bytes.

        If the disk is full, remove the incomplete frame. Raises: OSError.
        """
        return _append_frame(self._descriptor, kind, packed)

    def sync(self) -> None:
        """Flush all appended frames to the disk. Raises: OSError if the disk is full."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def append(path: Path, kind: str, content: Any) -> None:
    """Append a frame to a journal that another process may be writing. Raises: OSError.

    If a killed writer left an incomplete frame at the end, remove it first.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # if another process is writing the file, it will complete the last frame
            flock(descriptor, LOCK_EX | LOCK_NB)
            with suppress(BadInput):
                end = len(MAGIC)
                for frame in frames(path):
                    end = frame.end
                if end < os.fstat(descriptor).st_size:
                    os.ftruncate(descriptor, end)
        _append_frame(descriptor, kind, pack(content))
    finally:
        os.close(descriptor)


def _append_frame(descriptor: int, kind: str, packed: bytes) -> int:
    start = os.fstat(descriptor).st_size
    try:
        _write_all_bytes(
            descriptor, header(kind, packed) + packed
        )  # one call, so that frames of two writers never mix
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, start)
        raise
    return start


def header(kind: str, packed: bytes) -> bytes:
    """Return the header of a frame: kind, length and checksum of its content."""
    name = kind.encode()
    return _HEADER.pack(name, len(packed), zlib.crc32(packed, zlib.crc32(name)))


def _write_all_bytes(descriptor: int, content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def frames(path: Path) -> Iterator[JournalFrame]:
    """Yield the frames of a file, up to the first incomplete frame.

    Raises: OSError; BadInput if the file is no journal or has a newer format.
    """
    with path.open("rb") as file:
        start = check_format(path, file.read(len(MAGIC)))
        while (frame := _read_frame(file, start)) is not None:
            yield frame
            start = frame.end


class Tail:
    """Reader of a journal to which a writer may still append frames."""

    def __init__(self, path: Path) -> None:
        """Open a journal. Raises: BadInput if the file is unreadable, no journal, or of a newer format."""
        with files.faults(str(path)):
            self._file = path.open("rb")
        try:
            with files.faults(str(path)):
                self._place = check_format(path, self._file.read(len(MAGIC)))
        except BadInput:
            self.close()
            raise

    def frames(self) -> Iterator[JournalFrame]:
        """Yield the frames that writers have completed since the last call."""
        while True:
            self._file.seek(self._place)
            if (frame := _read_frame(self._file, self._place)) is None:
                return
            self._place = frame.end
            yield frame

    def close(self) -> None:
        self._file.close()


def frame_at(path: Path, start: int) -> JournalFrame | None:
    """Return the frame at the offset `start`, or None if the frame is incomplete. Raises: OSError."""
    with path.open("rb") as file:
        file.seek(start)
        return _read_frame(file, start)


def check_format(path: Path, line: bytes) -> int:
    """Check the first line of a journal, and return the offset of its first frame. Raises: BadInput."""
    if line != MAGIC:
        number = line.removeprefix(FIRST_LINE).strip()
        if line.startswith(FIRST_LINE) and number.isdigit() and int(number) > FORMAT:
            fault = f"a newer version of the program wrote this file (format {int(number)})"
            raise BadInput(str(path), f"{fault}; this version reads format {FORMAT}, so update the program")
        raise BadInput(str(path), "this file is not a run of this program")
    return len(MAGIC)


def _read_frame(file: Any, start: int) -> JournalFrame | None:
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
    return JournalFrame(name.decode(errors="replace"), start, packed)


def is_written(path: Path) -> bool | None:
    """Return whether a running process on this machine is writing the journal.

    Return None if the file system has no locks, as on some clusters. Raises: OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flock(descriptor, LOCK_SH | LOCK_NB)
        flock(descriptor, LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False
