"""Where the commands print to."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hadamard_tui.terminal.standard_streams import printing

PIPED_WIDTH = 80
NARROWEST = 40


class Output(Console):
    """Standard output, with the faults of `printing`."""

    def print(self, *objects: Any, **options: Any) -> None:
        with printing():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of ending the program, which may have files to save


def output() -> Console:
    """Standard output; 80 columns wide, or COLUMNS, where it is no terminal."""
    given = os.environ.get("COLUMNS", "")
    width = None
    if given.isdigit():
        width = max(NARROWEST, int(given))
    elif not sys.stdout.isatty():
        width = PIPED_WIDTH
    return Output(width=width, markup=False, highlight=False, emoji=False)


def errors() -> Console:
    """Standard error, for what is no result."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def progress(errors: Console) -> Progress:
    """A progress bar on stderr, if that is a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal or errors.is_dumb_terminal,
    )
