"""Consoles to which commands print, and progress as a bar or as lines of text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
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

from hadamard_tui.terminal.signals import undone
from hadamard_tui.terminal.standard_streams import printing

PIPED_WIDTH, NARROWEST = 80, 40
"""Width of standard output if it is not a terminal, and the minimum width that COLUMNS may set."""

WITHOUT_BAR = b"\r\x1b[2K\x1b[?25h"  # go to the start of the line, erase it, show the cursor


PERIOD = 10.0
"""Minimum number of seconds between two lines of progress."""


class Output(Console):
    """Console on standard output. It raises BadInput or ReaderGone if a text cannot be written."""

    def print(self, *objects: Any, **options: Any) -> None:
        with printing():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of ending the program, which may still have files to save


def output() -> Console:
    """Return the console on standard output.

    Its width is COLUMNS if this is set, else that of the terminal, else PIPED_WIDTH.
    """
    columns = os.environ.get("COLUMNS", "")
    width = None
    if columns.isdigit():
        width = max(NARROWEST, int(columns))
    elif not sys.stdout.isatty():
        width = PIPED_WIDTH
    return Output(width=width, markup=False, highlight=False, emoji=False)


class Errors(Console):
    """Console on standard error. If a text cannot be written, it is lost, and the command continues."""

    def print(self, *objects: Any, **options: Any) -> None:
        with suppress(OSError):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of ending the program


def errors() -> Console:
    """Return the console on standard error. It gets all output except results."""
    return Errors(stderr=True, markup=False, highlight=False, emoji=False)


@contextmanager
def progress(errors: Console, lines: ProgressLines | None = None) -> Iterator[Callable[[str, float], None]]:
    """Provide a function that shows progress. It gets a description of the work and the finished share.

    In a terminal, it shows a bar. The cursor becomes visible again even if a signal ends the program.
    Otherwise, it prints a line at most every PERIOD seconds. A command with several jobs passes the same
    `lines` to all jobs, because `lines` holds the time of the last line.
    """
    bar = Progress(
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
    if bar.disable:
        yield (lines or ProgressLines(errors)).show
        return
    with undone(lambda: give_back(errors)):
        bar.start()
        try:
            task = bar.add_task("loading", total=None)
            yield lambda words, share: bar.update(task, description=words, completed=share, total=1.0)
        finally:
            with suppress(OSError):  # the terminal is gone, but the command still has results to save
                bar.stop()


def give_back(errors: Console) -> None:
    """Remove the progress bar and show the cursor, without waiting for a terminal that is stopped."""
    with suppress(OSError):
        terminal = os.open(os.ttyname(errors.file.fileno()), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        os.write(terminal, WITHOUT_BAR)


class ProgressLines:
    """Prints the progress of a command as lines of text: at most one line in PERIOD seconds."""

    def __init__(self, errors: Console, label: str = "") -> None:
        """Start to measure the time. Each line starts with `label`, such as the name of a preset."""
        self._errors, self.label = errors, label
        self._start = self._printed = monotonic()

    def show(self, words: str, share: float) -> None:
        """Print a line, unless the last line is less than PERIOD seconds old. `share` is from 0 to 1."""
        now = monotonic()
        if now - self._printed >= PERIOD:
            self._printed = now
            line = f"{now - self._start:.0f} s: {self.label}{words}, {100 * share:.0f} %"
            self._errors.print(line, soft_wrap=True)
