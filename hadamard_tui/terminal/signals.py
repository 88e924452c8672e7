"""Requests from outside to end the program: signals, and a lost terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FATAL = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
"""Signals that end a program without a handler, and that accept one."""

GRACE = 2.0
"""Seconds after which the app is ended if it has not ended by itself."""


def exit_code(number: int) -> int:
    """Return the exit code after a signal, as in shells."""
    return 128 + number


@contextmanager
def heeded(end: Callable[[int], None], end_at_once: Callable[[int], NoReturn]) -> Iterator[None]:
    """End the app in good order after a fatal signal inside the block.

    A second signal ends it at once, as does a first one that the app does not answer within GRACE. A hangup
    is sent several times, by the kernel, the shell and our own driver, and counts as one.

    Args:
        end: called with an exit code; it returns, and the app ends later.
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

    Ignored signals, as after nohup, and signals with a handler, such as Ctrl-C, are left alone.

    Args:
        undo: must not wait for a lock, because it interrupts the program at any point.
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
    """Send this process SIGHUP for its lost terminal; the kernel signals only processes that belong to it."""
    os.kill(os.getpid(), signal.SIGHUP)
