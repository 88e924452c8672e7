"""Files at paths that users give: reading never blocks forever, and writing writes all bytes or none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from engine.core.parts import BadInput

UNFINISHED = ".hadamard-tui-unfinished"
"""Suffix of an unfinished file; its writer holds a lock on it."""


@contextmanager
def faults(where: str, summary: str = "cannot be read") -> Iterator[None]:
    """Convert errors that a path causes inside the block to BadInput at the place `where`.

    OSError, ValueError and RuntimeError are converted. A path with a NUL, or with characters that the file
    system does not allow, raises ValueError. An unknown `~user` or a cycle of symbolic links raises
    RuntimeError.
    """
    try:
        yield
    except BadInput:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(where, f"{summary}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """Return why a path cannot be used, in the operating system's words if it gives any."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def read(path: Path, limit: int) -> bytes:
    """Return the content of a regular file.

    Raises: BadInput with an empty `where` if the file has more than `limit` bytes, or is not a regular file:
        reading a pipe or a device might wait forever. OSError, ValueError or RuntimeError, as `faults`
        explains.
    """
    # O_NONBLOCK: opening a pipe would otherwise wait for a writer, before fstat could show that it is a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            kind_in_words = "a folder" if stat.S_ISDIR(kind) else "a pipe or a device"
            raise BadInput("", f"{kind_in_words}, not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise BadInput("", f"too large; at most {limit / 1024:g} KiB are read")
    return content


def check(path: Path, option: str = "--out") -> None:
    """Check before a run that a file can be written at `path`. Raises: BadInput."""
    where = f"{option} {path}"
    with faults(where, "cannot be written"):
        folder = path.absolute().parent
        if not folder.is_dir():
            raise BadInput(where, f"there is no folder {folder}; make it first")
        with suppress(FileNotFoundError):
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise BadInput(where, "this is a folder; name a file in it")
            if not stat.S_ISREG(mode):
                raise BadInput(where, "this is not a regular file; name a regular file")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(where, f"the folder {folder} is not writable; name another")


def write(path: Path, content: bytes | bytearray, option: str = "--out") -> None:
    """Write `content` to a temporary file, then rename it to `path`. Raises: BadInput.

    A killed writer leaves its unfinished file behind; the next writer in the same folder removes it.
    """
    check(path, option)
    with faults(f"{option} {path}", "cannot be written"):
        path = path.resolve()  # replaces the file that a link points to, and keeps the link
        remove_leftovers(path.parent)
        unfinished, descriptor = _create_unfinished_file(path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)  # some file systems report only here that they are full
                unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _create_unfinished_file(folder: Path) -> tuple[Path, int]:
    """Return the path and the descriptor of the file, locked if the file system has locks."""
    while True:
        unfinished = folder / f".{os.urandom(8).hex()}{UNFINISHED}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with suppress(OSError):
            flock(descriptor, LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return unfinished, descriptor
        os.close(descriptor)  # another writer removed the file before it was locked; try again


def remove_leftovers(folder: Path) -> None:
    """Remove unfinished files that killed writers left in a folder. Live writers lock theirs."""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for file_name in names:
        if file_name.startswith(".") and file_name.endswith(UNFINISHED):
            with suppress(OSError):
                _remove_unless_locked(folder / file_name)


def _remove_unless_locked(unfinished: Path) -> None:
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        unfinished.unlink()
    finally:
        os.close(descriptor)
