"""Timing in the app: calls after a delay, temporary notifications, and frames per second.

On a busy machine, a Textual timer may start after its delay is over. Such a timer never fires. A timer with a
negative delay loops without end. So `call_after` uses a timer of asyncio.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from textual.message_pump import MessagePump
from textual.notifications import Notification


def call_after(seconds: float, pump: MessagePump, call: Callable[[], object]) -> asyncio.TimerHandle:
    """Call a function of a widget or an app after `seconds`.

    To prevent the call, cancel the returned handle.
    """
    return asyncio.get_running_loop().call_later(seconds, lambda: pump.call_later(call))


PERIOD = 1.0
"""Seconds for which frames are counted to measure a rate."""

TOLERANCE = 0.1
"""Relative change of the frame rate below which the displayed rate stays the same.

Thus, an idle screen does not need to be redrawn.
"""


class Frames:
    """Counter of drawn frames. It reports the frame rate, which changes at most once per PERIOD."""

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
"""Minimum time for which a notification is visible, in seconds."""


@dataclass
class SteadyNotification(Notification):
    """Notification whose lifetime is measured by a monotonic clock.

    Textual checks that lifetime remains, and then starts a timer with the remaining time. If the lifetime
    ended between these steps, the timer would get a negative time and loop without end. So `time_left` is at
    least LEAST.
    """

    raised_at: float = field(default_factory=time.monotonic)

    @property
    def time_left(self) -> float:
        return max(self._remaining, LEAST)

    @property
    def has_expired(self) -> bool:
        return self._remaining <= 0

    @property
    def _remaining(self) -> float:
        return self.raised_at + self.timeout - time.monotonic()
