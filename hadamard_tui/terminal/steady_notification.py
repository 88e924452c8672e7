"""Messages that are shown for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from textual.notifications import Notification

LEAST = 0.05
"""Least seconds that a message is visible."""


@dataclass
class SteadyNotification(Notification):
    """A message whose time follows a steady clock, and may be over before it is shown.

    Textual checks whether its time is over, and then makes a timer of the rest; a negative rest uses the
    processor without end.
    """

    raised_at: float = field(default_factory=time.monotonic)

    @property
    def time_left(self) -> float:
        """Seconds until the message disappears."""
        return max(self._left, LEAST)

    @property
    def has_expired(self) -> bool:
        """Whether the message's time is over."""
        return self._left <= 0

    @property
    def _left(self) -> float:
        return self.raised_at + self.timeout - time.monotonic()
