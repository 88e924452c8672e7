"""Playback: up to which record the screen shows a run, and at which the playhead stands."""

from __future__ import annotations

import math
from dataclasses import dataclass

WHOLE_RUN_SECONDS = 6.0
"""A run is shown in so many seconds by default."""

SLOWEST, FASTEST = 1.0, 1e6
SLOWEST_PACE, FASTEST_PACE = 2.0**-10, 2.0**10


@dataclass
class Pace:
    """How fast runs are shown, relative to their length. It outlives a run: the next is shown alike."""

    factor: float = 1.0
    unlimited: bool = False

    def change(self, by: float) -> None:
        """Multiply the rate; whoever sets a rate no longer wants everything at once."""
        self.unlimited = False
        self.factor = min(FASTEST_PACE, max(SLOWEST_PACE, self.factor * by))

    def describe(self) -> str:
        """The pace in words, for when there is no run whose rate is known."""
        return "as fast as it can" if self.unlimited else f"at {self.factor:g} × the usual rate"


class Playback:
    """A position that moves over the records at `rate` per second, never ahead of what is computed.

    The engine is never slowed by it. A person may look back: then a playhead stands somewhere before the
    position, which goes on without it, and plays from there after `replay`.
    """

    def __init__(self, last: int, pace: Pace, at_once: bool = False) -> None:
        """Of a run whose last record is number `last`, counted from 0; shown `at_once` it has no pace."""
        self.last = last
        self.pace, self.at_once = pace, at_once
        self.position = 0.0
        self.playing = True
        self.replaying = False
        self.moved = False
        """Whether a person has put the playhead somewhere."""
        self._head: float | None = None

    @property
    def rate(self) -> float:
        """Records per second."""
        usual = max(SLOWEST, self.last / WHOLE_RUN_SECONDS)
        return min(FASTEST, max(SLOWEST, usual * self.pace.factor))

    @property
    def shown(self) -> int:
        """The number of the last record that is shown."""
        return math.floor(self.position + 1e-9)

    @property
    def place(self) -> int:
        """The record at which the playhead stands: where a person looks back to, or else the last shown."""
        return self.shown if self._head is None else math.floor(self._head + 1e-9)

    @property
    def looking_back(self) -> bool:
        """Whether the playhead stands before the end of what is shown."""
        return self._head is not None

    def seek(self, record: int) -> None:
        """Put the playhead to a record; at the last that is shown it goes on with the run."""
        self.replaying, self.moved = False, True
        self._head = max(record, 0) if record < self.shown else None

    def move(self, records: int) -> None:
        """Move the playhead by so many records, back if negative."""
        self.seek(min(max(self.place + records, 0), self.last))

    def replay(self) -> None:
        """Play from the playhead, from the start if it has nowhere to go, or hold it."""
        if self._head is None:
            self._head = 0.0
        self.replaying = not self.replaying

    def is_moving(self, frontier: int) -> bool:
        """Whether it moves on with time, up to the record that all curves have reached."""
        return self.replaying or (self.playing and self.position < frontier)

    def tick(self, seconds: float, frontier: int) -> None:
        """Move on by `seconds`, up to the record that all curves have reached."""
        if self.playing:
            ahead = frontier if self.at_once or self.pace.unlimited else self.position + self.rate * seconds
            self.position = max(self.position, min(ahead, frontier))
        if self.replaying and self._head is not None:
            self._head += self.rate * seconds
            if self._head >= self.shown:
                self.seek(self.shown)

    def step(self, frontier: int) -> bool:
        """Show one record more; False if it is not computed yet."""
        if self.shown + 1 > frontier:
            return False
        self.position = self.shown + 1
        return True

    def describe(self) -> str:
        """The rate in words."""
        return self.pace.describe() if self.pace.unlimited else f"{self.rate:.3g} records/s"
