"""Paths from outside: whatever is wrong with one is bad input in one line, and nothing waits forever."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.core.parts import BadInput


@contextmanager
def faults(where: str, what: str = "cannot be read") -> Iterator[None]:
    """Turn the faults of a path inside the block into BadInput at `where`.

    Besides OSError these are ValueError (a NUL, or letters that no file name has here) and RuntimeError (an
    unknown `~user`, links that go in circles).
    """
    try:
        yield
    except BadInput:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(where, f"{what}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """Why a path cannot be used, in the words of the system."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def read(path: Path, most: int) -> bytes:
    """The content of a regular file.

    Raises: BadInput without a place for anything else, which might be endless or never begin, and for more
    than `most` bytes; OSError and the other faults of a path.
    """
    # O_NONBLOCK: the opening of a pipe would wait for a writer, before anything could be seen of it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "a pipe or a device"
            raise BadInput("", f"{what}, not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise BadInput("", f"too large; at most {most / 1024:g} KiB are read")
    return content
