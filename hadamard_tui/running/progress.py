"""How far the runs of a sweep have come, and how long the rest is going to take."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from engine.results.readings import WHY

if TYPE_CHECKING:
    from engine.results.results import Results
    from engine.results.trace import Trace

SPAN = 30.0
"""Seconds of work by which the speed is estimated: points differ in what they cost."""

SHORTEST = 2.0
"""Seconds of work before there is an estimate."""


def share(results: Results) -> float:
    """The share of all points that is done, that of the present one and those left out included."""
    points, remaining = points_done(results)
    return 1 - remaining / len(results.sweep.points) if points else 0.0


def points_done(results: Results) -> tuple[float, float]:
    """How many points are computed, that of the present one in part, and how many may still have to be."""
    number = max(results.traces, default=None)
    if number is None:
        return 0.0, float(len(results.sweep.points))
    trace = results.traces[number]
    part = 0.0 if number in results.finished else done(trace) / max(whole(trace), 1)
    computed = len(results.finished) + part
    return computed, len(results.sweep.points) - len(results.left_out) - computed


def skipped(results: Results) -> str:
    """How many runs, of all points together, an axis that goes on until something is read off leaves out."""
    runs = sum(map(len, results.skipped.values()))
    planned = sum(len(point.experiment.learners) for point in results.sweep.points)
    return f"{runs} of {planned} runs skipped: {WHY}" if runs else ""


def done(trace: Trace) -> int:
    """The records that are there; a learner that ended early leaves none to wait for."""
    return sum(curve.capacity if curve.ended else curve.length for curve in trace.curves)


def whole(trace: Trace) -> int:
    """The records of all learners together."""
    return sum(curve.capacity for curve in trace.curves)


class Remaining:
    """Estimates the time that is left by how far the last seconds of work have come."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque([(0.0, 0.0)])
        self._left = math.inf

    def see(self, seconds: float, done: float, remaining: float) -> None:
        """Take note of how much is done after so many more seconds of work, and how much is left."""
        worked, self._left = self._seen[-1][0] + seconds, remaining
        self._seen.append((worked, done))
        while len(self._seen) > 2 and self._seen[1][0] <= worked - SPAN:
            self._seen.popleft()

    @property
    def words(self) -> str:
        """The time that is left, as "about 2 min left"; nothing where it is not known."""
        (then, before), (now, done) = self._seen[0], self._seen[-1]
        if now - then < SHORTEST or done <= before or not 0 < self._left < math.inf:
            return ""
        return f"{in_words(self._left * (now - then) / (done - before))} left"


def in_words(seconds: float) -> str:
    """A time to wait, as people say it."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 3600:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {seconds / 3600:.1f} h"
