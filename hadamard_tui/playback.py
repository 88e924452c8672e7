"""Playback: how far along the x-axis the screen shows a run. The engine is never slowed by it."""

from __future__ import annotations

import math

WHOLE_RUN_SECONDS = 6.0
"""A run is shown in so many seconds unless told otherwise."""

SLOWEST, FASTEST = 1.0, 1e6


class Playback:
    """A position that moves over the records at `rate` per second, never ahead of what is computed."""

    def __init__(self, last: float) -> None:
        self.last = last
        self.position = 0.0
        self.playing = True
        self.rate: float = max(SLOWEST, last / WHOLE_RUN_SECONDS)
        self.unlimited = False

    @property
    def shown(self) -> float:
        """The last x that is shown: a whole number of steps."""
        return math.floor(self.position + 1e-9)

    def tick(self, seconds: float, frontier: float) -> None:
        """Move on by `seconds`, up to the frontier that all curves have reached."""
        if not self.playing:
            return
        ahead = frontier if self.unlimited else self.position + self.rate * seconds
        self.position = max(self.position, min(ahead, frontier))

    def step(self, frontier: float) -> bool:
        """Show one step more; False if it is not computed yet."""
        if self.shown + 1 > frontier:
            return False
        self.position = self.shown + 1
        return True

    def faster(self) -> None:
        """Double the rate."""
        self.unlimited = False
        self.rate = min(FASTEST, self.rate * 2)

    def slower(self) -> None:
        """Halve the rate."""
        self.unlimited = False
        self.rate = max(SLOWEST, self.rate / 2)

    def describe(self) -> str:
        """The rate in words."""
        return "as fast as it can" if self.unlimited else f"{self.rate:.3g} steps/s"
