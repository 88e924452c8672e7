"""Files of the program that may be broken: never fatal, never lost, and told of in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Content = TypeVar("Content")


def read_or_set_aside(
    path: Path, parse: Callable[[bytes], Content], default: Content, instead: str
) -> tuple[Content, str]:
    """What a file says, or the default and a line that says what is wrong and where the file is now.

    Args:
        parse: raises ValueError for content that makes no sense.
        instead: what is done without the file, for that line.
    """
    try:
        return parse(path.read_bytes()), ""
    except FileNotFoundError:
        return default, ""
    except OSError as error:
        return default, f"{path}: cannot be read: {error.strerror}; {instead}"
    except ValueError as error:
        return default, f"{path}: {error}; {_set_aside(path)}; {instead}"


def _set_aside(path: Path) -> str:
    aside = path.with_name(f"{path.name}.broken")
    try:
        path.replace(aside)
    except OSError as error:
        return f"it cannot be renamed: {error.strerror}"
    return f"it is now {aside.name}"
