"""Calls after a delay, which always come.

A timer of Textual never fires if its time is over before it begins to wait, as on a busy machine; with a
negative time it uses the processor without end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def after(seconds: float, pump: MessagePump, call: Callable[[], object]) -> asyncio.TimerHandle:
    """Call a function of a widget or an app after so many seconds; `cancel()` prevents the call."""
    return asyncio.get_running_loop().call_later(seconds, lambda: pump.call_later(call))
