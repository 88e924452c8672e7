"""The user's files that a matrix or target names: where they are, and which version of them there is."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import force_setattr

from engine.core import files, texts
from engine.core.parts import BadField, BadInput, Part


class Version(NamedTuple):
    """A file that was modified then, and has so many bytes."""

    file: Path
    modified: int
    size: int


def make_absolute(part: Part) -> None:
    """Have a part, while it is made, name its files by paths that mean the same in any folder.

    A ~ is the user's home folder; other relative paths are relative to the working folder.
    """
    for name in part.file_fields:
        if (relative := getattr(part, name)) is None:
            continue
        try:
            path = str(Path(relative).expanduser().absolute())
        except (OSError, RuntimeError) as error:  # the working folder is gone, or there is no such user
            raise BadField(name, f"cannot be found: {files.reason(error)}") from error
        if fault := texts.fault(path):
            raise BadField(name, f"its folder {fault}")
        force_setattr(part, name, path)


def beside(folder: Path, path: str) -> str:
    """A path in a file of this folder, as it means the same in the working folder."""
    return path if path.startswith("~") else str(folder / path)


def version_of(path: str, where: str, holding: str) -> Version:
    """A regular file as it is at the moment. Raises: BadInput at `where`.

    `holding` says what it should hold.
    """
    file = Path(path)
    with files.faults(where, f"{file.name} cannot be read"):
        try:
            status = file.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise BadInput(where, f"there is no file {file.absolute()}") from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise BadInput(where, f"{file.absolute()} is {kind}; it must be a file with {holding}")
    if not status.st_size:
        raise BadInput(where, f"{file.name} is empty; it must be a file with {holding}")
    return Version(file, status.st_mtime_ns, status.st_size)
