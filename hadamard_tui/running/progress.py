"""Progress of a sweep, working time of the engine, and an estimate of the remaining time."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING

from engine.results.gathering import WHY

if TYPE_CHECKING:
    from engine.results.results import Results
    from engine.spec.sweep import Sweep


SPAN = 30.0
"""Seconds of recent work from which the speed is estimated. Earlier sweep points may differ in cost."""

SHORTEST = 2.0
"""Minimum seconds of work before the first estimate of the remaining time."""


def skipped(results: Results) -> str:
    runs = sum(map(len, results.skipped.values()))
    planned = sum(len(point.experiment.learners) for point in results.sweep.points)
    return f"{runs} of {planned} runs skipped: {WHY}" if runs else ""


class Remaining:
    """Estimate of the remaining time, from the speed during the last SPAN seconds of work."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque([(0.0, 0.0)])
        self._remaining = math.inf

    def see(self, seconds: float, done: float, remaining: float) -> None:
        """Record the finished and the remaining work, both in the same unit.

        Args:
            seconds: time that the engine has worked since the last call.
        """
        worked, self._remaining = self._seen[-1][0] + seconds, remaining
        self._seen.append((worked, done))
        while len(self._seen) > 2 and self._seen[1][0] <= worked - SPAN:
            self._seen.popleft()

    @property
    def words(self) -> str:
        """Remaining time as text, such as "about 2 min left"; empty while no estimate is possible."""
        (then, before), (now, done) = self._seen[0], self._seen[-1]
        if now - then < SHORTEST or done <= before or not 0 < self._remaining < math.inf:
            return ""
        return f"{duration_in_words(self._remaining * (now - then) / (done - before))} left"


def duration_in_words(seconds: float) -> str:
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 3600:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {seconds / 3600:.1f} h"


class EngineTime:
    """Stopwatch for the time that the engine works on a run. It stops during pauses."""

    def __init__(self, sweep: Sweep) -> None:
        self._axes = sweep.axes
        self._remaining = Remaining()
        self._worked = 0.0
        self._since: float | None = None

    def begin(self) -> None:
        self._worked, self._since = 0.0, time.perf_counter()

    def count(self, is_running: bool) -> None:
        """Start or stop the stopwatch. If it was running, add the time since the last call.

        Args:
            is_running: whether the engine works from now on.
        """
        self._worked, now = self.seconds, time.perf_counter()
        self._since = now if is_running else None

    @property
    def is_counting(self) -> bool:
        return self._since is not None

    @property
    def seconds(self) -> float:
        return self._worked + (0.0 if self._since is None else time.perf_counter() - self._since)

    def speed(self, x: float) -> float:
        """Return the speed of a run: `x`, the present value of its clock, per second of work."""
        return x / max(self.seconds, 1e-9)

    def observe(self, seconds: float, results: Results) -> None:
        if self._axes and self.is_counting:
            self._remaining.see(seconds, *results.points_done)

    @property
    def remaining(self) -> str:
        """Text about the time that the remaining sweep points need; empty while no estimate is possible.

        It is an upper limit if the sweep may skip points.
        """
        words = self._remaining.words if self.is_counting else ""
        return f"at most {words}" if words and any(axis.until for axis in self._axes) else words
