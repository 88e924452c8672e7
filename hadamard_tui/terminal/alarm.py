"""Calls after a while, each of which comes.

A timer of Textual never fires if its time is over before it begins to wait, as on a machine that is busy with
others, and if that time is negative it takes the processor for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def after(seconds: float, pump: MessagePump, call: Callable[[], object]) -> asyncio.TimerHandle:
    """Have a widget or an app make a call in its turn, after so many seconds; `cancel()` takes it back."""
    return asyncio.get_running_loop().call_later(seconds, lambda: pump.call_later(call))
