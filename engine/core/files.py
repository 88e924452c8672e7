"""Files at paths from outside, read without endless waiting, and written completely or not at all."""

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
    """Turn the faults of a path inside the block into BadInput at `where`.

    Besides OSError these are ValueError (a NUL, or letters that no file name has here) and RuntimeError (an
    unknown `~user`, links that go in circles).
    """
    try:
        yield
    except BadInput:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(where, f"{summary}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """Return the system's reason why a path cannot be used."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def read(path: Path, limit: int) -> bytes:
    """Return the content of a regular file.

    Raises: BadInput without a place for other kinds of files, which might never begin or end, and for more
    than `limit` bytes; OSError and the other faults of a path.
    """
    # O_NONBLOCK: the opening of a pipe would wait for a writer, before anything could be seen of it.
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
    """Check before a run that its result can be written to a path. Raises: BadInput."""
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
                raise BadInput(where, "this is not a regular file; name one")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(where, f"the folder {folder} is not writable; name another")


def write(path: Path, content: bytes | bytearray, option: str = "--out") -> None:
    """Write `content` to a temporary file and rename it. Raises: BadInput if it cannot be written.

    A killed writer leaves its unfinished file behind; the next writer removes it.
    """
    check(path, option)
    with faults(f"{option} {path}", "cannot be written"):
        path = path.resolve()  # a link keeps pointing to the file that is replaced
        remove_leftovers(path.parent)
        unfinished, descriptor = _begin(path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)  # some file systems notice only here that they are full
                unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _begin(folder: Path) -> tuple[Path, int]:
    """Return a new file and its descriptor; the file is locked if the file system has locks."""
    while True:
        unfinished = folder / f".{os.urandom(8).hex()}{UNFINISHED}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with suppress(OSError):
            flock(descriptor, LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return unfinished, descriptor
        os.close(descriptor)  # taken for a leftover before it was locked


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files of dead writers; files of live writers are locked."""
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
