"""Playback: the last record on the screen, and the record of the playhead."""

from __future__ import annotations

import math
from dataclasses import dataclass

WHOLE_RUN_SECONDS = 6.0
"""Default duration of the playback of a run, in seconds."""

SLOWEST, FASTEST = 1.0, 1e6
"""Limits of the rate in records per second."""

SLOWEST_PACE, FASTEST_PACE = 2.0**-10, 2.0**10
"""Limits of the pace: ten presses of the key that doubles or halves it."""


@dataclass
class Pace:
    """Playback speed relative to the length of a run. It also applies to later runs."""

    factor: float = 1.0
    unlimited: bool = False

    def change(self, by: float) -> None:
        """Multiply the rate, and end the unlimited pace."""
        self.unlimited = False
        self.factor = min(FASTEST_PACE, max(SLOWEST_PACE, self.factor * by))

    def describe(self) -> str:
        """Return the pace as text, before a run determines the rate."""
        return "as fast as it can" if self.unlimited else f"at {self.factor:g} × the usual rate"


class Playback:
    """Position that moves over the records at `rate` per second, up to the last computed one.

    It never slows the engine. If a person looks back, the playhead stays at an earlier record while the
    position moves on; `replay` plays from the playhead.
    """

    def __init__(self, last: int, pace: Pace, at_once: bool = False) -> None:
        """Start at record 0 of a run with last record `last`; `at_once` ignores the pace."""
        self.last = last
        self.pace, self.at_once = pace, at_once
        self.position = 0.0
        self.playing = True
        self.replaying = False
        self.moved = False
        """Whether a person has moved the playhead."""
        self._head: float | None = None

    @property
    def rate(self) -> float:
        """Records per second."""
        usual = max(SLOWEST, self.last / WHOLE_RUN_SECONDS)
        return min(FASTEST, max(SLOWEST, usual * self.pace.factor))

    @property
    def shown(self) -> int:
        """Number of the last record on the screen."""
        return math.floor(self.position + 1e-9)

    @property
    def place(self) -> int:
        """Record of the playhead: the record that a person looks back to, or the last one on the screen."""
        return self.shown if self._head is None else math.floor(self._head + 1e-9)

    @property
    def looking_back(self) -> bool:
        """Whether the playhead stands before the last record on the screen."""
        return self._head is not None

    def seek(self, record: int) -> None:
        """Put the playhead at a record. At the last record on the screen, it follows the run."""
        self.replaying, self.moved = False, True
        self._head = max(record, 0) if record < self.shown else None

    def move(self, records: int) -> None:
        """Move the playhead by `records`; a negative number moves it back."""
        self.seek(min(max(self.place + records, 0), self.last))

    def replay(self) -> None:
        """Play from the playhead, or from the start if there is none.

        If the playhead already plays, stop it.
        """
        if self._head is None:
            self._head = 0.0
        self.replaying = not self.replaying

    def is_moving(self, frontier: int) -> bool:
        """Whether the position or the playhead moves with time."""
        return self.replaying or (self.playing and self.position < frontier)

    def tick(self, seconds: float, frontier: int) -> None:
        """Move on by `seconds`, up to the last record that all curves have reached."""
        if self.playing:
            ahead = frontier if self.at_once or self.pace.unlimited else self.position + self.rate * seconds
            self.position = max(self.position, min(ahead, frontier))
        if self.replaying and self._head is not None:
            self._head += self.rate * seconds
            if self._head >= self.shown:
                self.seek(self.shown)

    def step(self, frontier: int) -> bool:
        """Show one more record. Return False if it is not computed yet."""
        if self.shown + 1 > frontier:
            return False
        self.position = self.shown + 1
        return True

    def describe(self) -> str:
        """Return the rate in words."""
        return self.pace.describe() if self.pace.unlimited else f"{self.rate:.3g} records/s"
