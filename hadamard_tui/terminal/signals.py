"""Requests from outside to end the program: signals, and a terminal that is gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FATAL = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
"""Signals that end a program without a handler, and that can have one."""

GRACE = 2.0
"""Seconds after which the app is ended if it has not ended by itself."""


def exit_code(number: int) -> int:
    """Return the exit code after a signal, as in shells."""
    return 128 + number


@contextmanager
def heeded(end: Callable[[int], None], end_at_once: Callable[[int], NoReturn]) -> Iterator[None]:
    """While this lasts, signals that would end the program end the app in good order.

    A second one ends it at once, as does a first one that the app has no answer to within GRACE. A hangup is
    sent more than once, by the kernel, the shell and our own driver: that is no second one.

    Args:
        end: is called with an exit code, and returns; the app ends later.
        end_at_once: is called with an exit code, in the middle of whatever the app was doing. It may wait for
            no lock, for the app may hold it.
    """
    first: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if not first:
            first.append(number)
            signal.setitimer(signal.ITIMER_REAL, GRACE)
            end(exit_code(number))
        elif number != signal.SIGHUP:
            end_at_once(exit_code(first[0]))

    numbers = [*(getattr(signal, name) for name in FATAL), signal.SIGALRM]
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

    Signals that are ignored, as after nohup, or that already have a handler, such as Ctrl-C, keep it.

    Args:
        undo: may wait for no lock, because it interrupts the program at any point.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        undo()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, handle)  # a stopped program goes on here

    numbers = [getattr(signal, name) for name in (*FATAL, "SIGTSTP")]
    unhandled = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in unhandled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)


def hang_up() -> None:
    """Signal this process that its terminal is gone; the kernel signals only processes that belong to it."""
    os.kill(os.getpid(), signal.SIGHUP)
