"""Files that gzip may have packed."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import cast

MAGIC = b"\x1f\x8b"
"""What gzip begins its files with."""

FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What is raised of a file that gzip has not packed to its end."""


def is_packed(file: Path) -> bool:
    """Whether gzip has packed a file."""
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def opened(file: Path) -> io.BufferedReader:
    """A file, unpacked if gzip has packed it."""
    return cast("io.BufferedReader", gzip.open(file)) if is_packed(file) else file.open("rb")
