"""What requests the program to end from outside: signals, and a terminal that is gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FATAL = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
"""What would end a program that does not listen, and can be listened to."""

GRACE = 2.0
"""Seconds that the app has to end by itself; it is ended then."""


def exit_code(number: int) -> int:
    """The exit code after a signal, as shells have it."""
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
    """While this lasts, `undo` is called before a signal ends or stops the program, which it does after that.

    Signals that are ignored, as after nohup, or that somebody listens to already, as to Ctrl-C, stay so.

    Args:
        undo: may wait for no lock, for it is called in the middle of whatever the program was doing.
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
    """Signal this process that its terminal is gone: the kernel signals only those that belong to it."""
    os.kill(os.getpid(), signal.SIGHUP)
