"""Errors that a user's code raises, as text: type, message, file and line."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

from engine.core.texts import reason_of


def place_of(error: BaseException, file: str) -> str:
    """Return the place of an error in `file`, as "file:line".

    The line is the innermost line of the traceback that is in `file`. If no line of the traceback is in
    `file`, return `file` alone.
    """
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{file}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else file


def typed(error: BaseException) -> str:
    """Return the type and the message of an error as text."""
    return f"{type(error).__name__}: {reason_of(error)}"


def located(error: BaseException, method: Callable[..., Any]) -> str:
    """Return the type and message of an error in a user's method, with the file and line of the error."""
    return f"{typed(error)}, at {place_of(error, inspect.unwrap(method).__code__.co_filename)}"
