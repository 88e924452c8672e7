"""Requests from outside to end the program: signals, and a lost terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FATAL = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
"""Signals that end a program by default, and that accept a handler."""

GRACE = 2.0
"""Seconds after which the app is forced to end if it has not ended by itself."""


def exit_code(number: int) -> int:
    """Return the exit code after a signal, as in shells."""
    return 128 + number


@contextmanager
def heeded(end: Callable[[int], None], end_at_once: Callable[[int], NoReturn]) -> Iterator[None]:
    """End the app in good order after a fatal signal inside the block.

    A second signal ends it at once; so does a first signal, if the app has not ended within GRACE. The
    kernel, the shell and our own driver each send a hangup, and these count as one.

    Args:
        end: called with an exit code; it returns before the app has ended.
        end_at_once: called with an exit code at any point of the app. It must not wait for a lock, which
            the app may hold.
    """
    first: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if not first:
            first.append(number)
            signal.setitimer(signal.ITIMER_REAL, GRACE)
            end(exit_code(number))
        elif number != signal.SIGHUP:
            end_at_once(exit_code(first[0]))

    numbers = [*(getattr(signal, signal_name) for signal_name in FATAL), signal.SIGALRM]
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """Call `undo` before a signal ends or stops the program inside the block.

    Signals that are ignored, as after nohup, or that have a handler, such as Ctrl-C, are left alone.

    Args:
        undo: function without arguments. It must not wait for a lock, because it interrupts the program at
            any point.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        undo()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, handle)  # a stopped program continues here

    numbers = [getattr(signal, signal_name) for signal_name in (*FATAL, "SIGTSTP")]
    unhandled = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in unhandled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)


def hang_up() -> None:
    """Send this process SIGHUP for its lost terminal; the kernel sends it only to connected processes."""
    os.kill(os.getpid(), signal.SIGHUP)
