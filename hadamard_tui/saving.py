"""Results in files: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from engine.parts import BadInput


def check(path: Path, option: str = "--out") -> None:
    """See before a run that its result can be written there. Raises: BadInput."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise BadInput(f"{option} {path}", f"there is no folder {folder}; make it first")
    if path.is_dir():
        raise BadInput(f"{option} {path}", "this is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise BadInput(f"{option} {path}", "this is no regular file; name one")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput(f"{option} {path}", f"the folder {folder} is not writable; name another")


def write(path: Path, content: bytes, option: str = "--out") -> None:
    """Put `content` into a file by renaming a finished one. Raises: BadInput if that cannot be done."""
    path = path.resolve()  # a link keeps pointing to the file that is replaced
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        raise BadInput(f"{option} {path}", f"cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
