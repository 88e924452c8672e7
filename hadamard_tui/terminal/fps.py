"""Frames per second that the screen has drawn lately."""

from __future__ import annotations

PERIOD = 1.0
"""Seconds over which frames are counted."""

TOLERANCE = 0.1
"""Relative change below which the shown rate stays, so that a screen at rest stays at rest."""


class Frames:
    """Counts frames; the rate it reports moves once per period at most."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._count, self._seconds = 0, 0.0

    def count(self, seconds: float) -> None:
        """Count a frame, `seconds` after the one before."""
        self._count += 1
        self._seconds += seconds
        if self._seconds >= PERIOD:
            measured = self._count / self._seconds
            if abs(measured - self.rate) > TOLERANCE * self.rate:
                self.rate = measured
            self._count, self._seconds = 0, 0.0
