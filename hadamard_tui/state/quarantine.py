"""Files of the program that may be broken: never fatal, never lost, and reported in one line."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

from engine.core import files
from engine.core.parts import BadInput

MOST_BYTES = 1 << 24
"""What the program writes itself is far smaller, even beside a set-up of thousands of learners."""

Content = TypeVar("Content")


def read_or_set_aside(
    place: Callable[[], Path], parse: Callable[[bytes], Content], default: Content, instead: str
) -> tuple[Content, str]:
    """What a file says, or the default and a line that says what is wrong and where the file is now.

    Args:
        place: where the file is.
        parse: raises ValueError or RecursionError for content that makes no sense.
        instead: what is done without the file, for that line.
    """
    path: Path | None = None
    try:
        with files.faults(""):
            path = place()
            content = files.read(path, MOST_BYTES)
    except BadInput as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return default, ""
        return default, str(BadInput(str(path or "the state file"), f"{error}; {instead}"))
    try:
        return parse(content), ""
    except (ValueError, RecursionError) as error:
        return default, str(BadInput(str(path), f"{error}; {_set_aside(path)}; {instead}"))


def _set_aside(path: Path) -> str:
    """Rename a file to a name that no file has yet; what was done, in words."""
    try:
        for number in count(1):
            aside = path.with_name(f"{path.name}.broken{'' if number == 1 else f'-{number}'}")
            try:
                aside.touch(exist_ok=False)  # takes the name, lest another program does meanwhile
            except FileExistsError:
                continue
            path.replace(aside)
            break
    except OSError as error:
        return f"it cannot be renamed: {files.reason(error)}"
    return f"it is now {aside.name}"
