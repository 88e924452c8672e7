"""Time in the app: calls after a delay, temporary messages, and frames per second.

A timer of Textual never fires if its time is over before it starts to wait, as happens on a busy machine.
With a negative time, it runs in an endless loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from textual.message_pump import MessagePump
from textual.notifications import Notification


def call_after(seconds: float, pump: MessagePump, call: Callable[[], object]) -> asyncio.TimerHandle:
    """Call a function of a widget or an app after `seconds`; `cancel()` prevents the call."""
    return asyncio.get_running_loop().call_later(seconds, lambda: pump.call_later(call))


PERIOD = 1.0
"""Seconds over which frames are counted."""

TOLERANCE = 0.1
"""Relative change below which the shown rate stays, so that an idle screen stays still."""


class Frames:
    """Counter of frames; its reported rate changes at most once per period."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._count, self._seconds = 0, 0.0

    def count(self, seconds: float) -> None:
        """Count a frame, `seconds` after the previous one."""
        self._count += 1
        self._seconds += seconds
        if self._seconds >= PERIOD:
            measured = self._count / self._seconds
            if abs(measured - self.rate) > TOLERANCE * self.rate:
                self.rate = measured
            self._count, self._seconds = 0, 0.0


LEAST = 0.05
"""Minimum time of a visible message in seconds."""


@dataclass
class SteadyNotification(Notification):
    """Message with a lifetime by a steady clock, which may be over before the message is shown.

    Textual checks whether the lifetime is over, and then starts a timer with the rest; a negative rest would
    make the timer loop endlessly.
    """

    raised_at: float = field(default_factory=time.monotonic)

    @property
    def time_left(self) -> float:
        """Seconds until the message disappears."""
        return max(self._remaining, LEAST)

    @property
    def has_expired(self) -> bool:
        """Whether the time of the message is over."""
        return self._remaining <= 0

    @property
    def _remaining(self) -> float:
        return self.raised_at + self.timeout - time.monotonic()
