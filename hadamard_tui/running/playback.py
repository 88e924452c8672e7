"""Playback of a run: how much of the run the screen shows, and where the playhead is.

Both are counted in evaluation points, at which the run computes its measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WHOLE_RUN_SECONDS = 6.0
"""Duration of the playback of a run at the default pace, in seconds."""

SLOWEST, FASTEST = 1.0, 1e6
"""Minimum and maximum playback rate in evaluation points per second."""

SLOWEST_PACE, FASTEST_PACE = 2.0**-10, 2.0**10
"""Minimum and maximum of `Pace.factor`. Each press of a key halves or doubles the factor."""


@dataclass
class Pace:
    """Speed of the playback. The app keeps it for later runs.

    Args:
        factor: the playback rate divided by the default rate, which depends on the length of the run.
        unlimited: whether evaluation points are shown as soon as they are computed.
    """

    factor: float = 1.0
    unlimited: bool = False

    def change(self, by: float) -> None:
        self.unlimited = False
        self.factor = min(FASTEST_PACE, max(SLOWEST_PACE, self.factor * by))

    def describe(self) -> str:
        """Return the pace as text, relative to the default rate, which depends on the run."""
        return "as fast as possible" if self.unlimited else f"at {self.factor:g} × the usual rate"


class Playback:
    """Playback of a run, whose position advances by `rate` evaluation points per second.

    The run is shown up to the position, which never passes the last computed evaluation point. The playhead
    is at the position, until the user moves the playhead to an earlier point. The position then still
    advances, and `replay` moves the playhead towards the position. The playback never slows the engine.
    """

    def __init__(self, last: int, pace: Pace, at_once: bool = False) -> None:
        """Start at evaluation point 0.

        Args:
            last: number of the last evaluation point of the run.
            at_once: whether to ignore the pace and show all computed evaluation points.
        """
        self.last = last
        self.pace, self.at_once = pace, at_once
        self.position = 0.0
        self.playing = True
        self.replaying = False
        self.moved = False
        """Whether the user has moved the playhead."""
        self._head: float | None = None

    @property
    def rate(self) -> float:
        usual = max(SLOWEST, self.last / WHOLE_RUN_SECONDS)
        return min(FASTEST, max(SLOWEST, usual * self.pace.factor))

    @property
    def shown(self) -> int:
        return math.floor(self.position + 1e-9)

    @property
    def place(self) -> int:
        return self.shown if self._head is None else math.floor(self._head + 1e-9)

    @property
    def looking_back(self) -> bool:
        return self._head is not None

    def seek(self, record: int) -> None:
        """Move the playhead to evaluation point `record`.

        If this point is not before the last shown point, the playhead moves to the last shown point. From
        then on, it advances with the run.
        """
        self.replaying, self.moved = False, True
        self._head = max(record, 0) if record < self.shown else None

    def move(self, records: int) -> None:
        self.seek(min(max(self.place + records, 0), self.last))

    def replay(self) -> None:
        """Start a replay, or stop the running one.

        A replay starts at the playhead. If the playhead is at the last shown point, the replay starts at the
        start of the run.
        """
        if self._head is None:
            self._head = 0.0
        self.replaying = not self.replaying

    def is_moving(self, frontier: int) -> bool:
        """Return whether the position or the playhead advances without a key press.

        Args:
            frontier: number of the last evaluation point that all curves have reached.
        """
        return self.replaying or (self.playing and self.position < frontier)

    def tick(self, seconds: float, frontier: int) -> None:
        """Advance the playback by `seconds`, but not beyond evaluation point `frontier`.

        Args:
            frontier: number of the last evaluation point that all curves have reached.
        """
        if self.playing:
            ahead = frontier if self.at_once or self.pace.unlimited else self.position + self.rate * seconds
            self.position = max(self.position, min(ahead, frontier))
        if self.replaying and self._head is not None:
            self._head += self.rate * seconds
            if self._head >= self.shown:
                self.seek(self.shown)

    def step(self, frontier: int) -> bool:
        """Show the next evaluation point. Return False if it is not computed yet."""
        if self.shown + 1 > frontier:
            return False
        self.position = self.shown + 1
        return True

    def describe(self) -> str:
        return self.pace.describe() if self.pace.unlimited else f"{self.rate:.3g} records/s"
