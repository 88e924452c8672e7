"""Progress in lines, for a standard error that is no terminal."""

from __future__ import annotations

from time import monotonic

from rich.console import Console

PERIOD = 10.0
"""Seconds between two lines."""


class ProgressLines:
    """Prints how far a command has come, once in every PERIOD seconds."""

    def __init__(self, errors: Console, label: str = "") -> None:
        """Count the time from now on. `label` begins what a line says, as the name of a preset."""
        self._errors, self.label = errors, label
        self._start = self._printed = monotonic()

    def show(self, words: str, share: float) -> None:
        """Print what is done and the share of all work that is done, if it is time for a line."""
        now = monotonic()
        if now - self._printed >= PERIOD:
            self._printed = now
            line = f"{now - self._start:.0f} s: {self.label}{words}, {100 * share:.0f} %"
            self._errors.print(line, soft_wrap=True)
