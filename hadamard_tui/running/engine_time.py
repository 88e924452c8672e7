"""Seconds that the engine has worked on a run, and the time that it still needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hadamard_tui.running.progress import Remaining, points_done

if TYPE_CHECKING:
    from engine.results.results import Results
    from engine.spec.sweep import Sweep


class EngineTime:
    """Counts the seconds in which the engine works on a trace; pauses do not count."""

    def __init__(self, sweep: Sweep) -> None:
        self._axes = sweep.axes
        self._remaining = Remaining()
        self._worked = 0.0
        self._since: float | None = None

    def begin(self) -> None:
        """Restart the count for a new trace."""
        self._worked, self._since = 0.0, time.perf_counter()

    def count(self, is_running: bool) -> None:
        """Add the time until now; from now on count if the engine `is_running`."""
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
        """Record the progress of the points of the axes after `seconds` more of work."""
        if self._axes and self.is_counting:
            self._remaining.see(seconds, *points_done(results))

    @property
    def remaining(self) -> str:
        """Time that the remaining points of the axes need, in words; empty if it is unknown.

        It is an upper limit if some points may be skipped.
        """
        words = self._remaining.words if self.is_counting else ""
        return f"at most {words}" if words and any(axis.until for axis in self._axes) else words
