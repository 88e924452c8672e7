"""The time for which the engine has computed a run, and the time that it still needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hadamard_tui.running.progress import Remaining, points_done

if TYPE_CHECKING:
    from engine.results.results import Results
    from engine.spec.sweep import Sweep


class EngineTime:
    """Counts the seconds for which the engine is at work on a trace; pauses do not count."""

    def __init__(self, sweep: Sweep) -> None:
        self._axes = sweep.axes
        self._remaining = Remaining()
        self._worked = 0.0
        self._since: float | None = None

    def begin(self) -> None:
        """Count from 0 for a new trace."""
        self._worked, self._since = 0.0, time.perf_counter()

    def count(self, is_running: bool) -> None:
        """Count the time until now, and the time from now on if the engine `is_running`."""
        self._worked, now = self.seconds, time.perf_counter()
        self._since = now if is_running else None

    @property
    def is_counting(self) -> bool:
        """Whether the engine is at work on the trace."""
        return self._since is not None

    @property
    def seconds(self) -> float:
        """Seconds of work on the trace."""
        return self._worked + (0.0 if self._since is None else time.perf_counter() - self._since)

    def speed(self, x: float) -> float:
        """Units of the x-axis per second of work, for a run that has come to x."""
        return x / max(self.seconds, 1e-9)

    def observe(self, seconds: float, results: Results) -> None:
        """Take note of how far the points of the axes have come after `seconds` more."""
        if self._axes and self.is_counting:
            self._remaining.see(seconds, *points_done(results))

    @property
    def remaining(self) -> str:
        """The time that the remaining points of the axes need, in words; empty if it is unknown.

        Where some points may be skipped it is an upper limit.
        """
        words = self._remaining.words if self.is_counting else ""
        return f"at most {words}" if words and any(axis.until for axis in self._axes) else words
