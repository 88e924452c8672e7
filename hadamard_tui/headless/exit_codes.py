"""Exit codes of commands, and the line that is printed on stderr after an error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.core.texts import LONGEST_PART, escaped, message
from hadamard_tui import NAME

if TYPE_CHECKING:
    from typer.exceptions import TyperException

LONGEST = 2 * LONGEST_PART
"""Maximum length of an error message in characters.

Longer messages are cut, because they may quote an argument that is a complete file.
"""

REFUSED = 2
"""Exit code after bad input of any kind."""

FAILED = 3
"""Exit code after an error of the program itself."""

STOPPED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as in shells."""


def refused(text: str) -> int:
    """Print an error in the user's input as one line. Return the exit code REFUSED."""
    _print_error(f"error: {message(' '.join(text.split()), LONGEST)}")
    return REFUSED


def broken(error: Exception) -> int:
    """Print one line about a failure of the program, and save the traceback. Return the exit code FAILED."""
    import traceback

    from platformdirs import user_state_path

    reason = f"{type(error).__name__}: {error}"
    text = "".join(traceback.format_exception(error))
    try:
        file = user_state_path(NAME) / "traceback.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, RuntimeError):  # the disk is full, or there is no home folder
        for line in text.splitlines():
            _print_error(escaped(line))
        where = "its traceback is above"
    else:
        where = f"its traceback is in {file}"
    refused(f"the program failed: {reason}; {where}")
    return FAILED


def usage(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip(".")
    if message.startswith("Got unexpected extra argument") and "=" in message:
        message += "; give every value its own --set"
    return f"{message}; see {context.command_path if context else NAME} --help"


def stop(code: int = STOPPED, signal_name: str = "") -> None:
    """End the program at once, even while another thread multiplies matrices or imports torch.

    Args:
        code: exit code, by default that of Ctrl-C.
        signal_name: signal that stopped the program; empty for Ctrl-C.
    """
    _print_error(f"stopped by {signal_name}" if signal_name else "stopped")
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _print_error(line: str) -> None:
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)
