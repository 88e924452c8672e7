"""How far the runs of a plan have come, and how long the rest is going to take."""

from __future__ import annotations

from collections import deque

from engine.results.results import Results
from engine.results.trace import Trace

SPAN = 30.0
"""Seconds of work by which the speed is estimated: points differ in what they cost."""

SHORTEST = 2.0
"""Seconds of work before there is an estimate."""


def share(results: Results) -> float:
    """The share of all points that is done, that of the present one included."""
    here = max(results.traces, default=None)
    if here is None:
        return 0.0
    trace = results.traces[here]
    part = 0.0 if here in results.finished else done(trace) / max(whole(trace), 1)
    return (len(results.finished) + part) / len(results.plan.points)


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

    def see(self, seconds: float, share: float) -> None:
        """Take note of how far it is after so many more seconds of work."""
        worked = self._seen[-1][0] + seconds
        self._seen.append((worked, share))
        while len(self._seen) > 2 and self._seen[1][0] <= worked - SPAN:
            self._seen.popleft()

    @property
    def words(self) -> str:
        """The time that is left, as "about 2 min left"; nothing where it is not known."""
        (then, before), (now, share) = self._seen[0], self._seen[-1]
        if now - then < SHORTEST or share <= before or share >= 1:
            return ""
        return f"{in_words((1 - share) * (now - then) / (share - before))} left"


def in_words(seconds: float) -> str:
    """A time to wait, as people say it."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 3600:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {seconds / 3600:.1f} h"
