"""Messages that are shown for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from textual.notifications import Notification

LEAST = 0.05
"""Seconds that a message is in sight at least, once it is being put up."""


@dataclass
class SteadyNotification(Notification):
    """A message whose time is that of a steady clock, and whose end may pass while it is being put up.

    Textual looks first whether its time is over, then makes a timer of what is left; one of less than nothing
    takes the processor for good.
    """

    raised_at: float = field(default_factory=time.monotonic)

    @property
    def time_left(self) -> float:
        """Seconds until it goes."""
        return max(self._left, LEAST)

    @property
    def has_expired(self) -> bool:
        """Whether its time is over."""
        return self._left <= 0

    @property
    def _left(self) -> float:
        return self.raised_at + self.timeout - time.monotonic()
