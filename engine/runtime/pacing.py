"""How long a round of a run takes."""

from __future__ import annotations

import time

MOST = 1 << 12
"""Records, or updates within them, in a round at most."""

GROWTH = 8
"""A round has at most so many times the records of the one before."""


class Pacing:
    """As many records for the next round as would have taken so many seconds in the last one."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._records = 1
        self._queried: float | None = None

    def records(self) -> int:
        """How many records each learner may add; to be queried before every round."""
        now = time.perf_counter()
        if self._queried is not None:
            share = self._seconds / max(now - self._queried, 1e-9)
            self._records = min(MOST, max(1, int(self._records * min(share, GROWTH))))
        self._queried = now
        return self._records

    def rest(self) -> None:
        """What passes until the next query is no round."""
        self._queried = None
