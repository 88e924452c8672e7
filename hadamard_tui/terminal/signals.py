"""Handling of signals that end the program, and of the loss of the terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FATAL = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
"""Signals that end a program by default and for which a handler can be set."""

GRACE = 2.0
"""Seconds after the first signal until the app is forced to end, unless it has ended by then."""


def exit_code(number: int) -> int:
    """Return the exit code that a shell reports for a program ended by signal `number`."""
    return 128 + number


@contextmanager
def heeded(end: Callable[[int], None], end_at_once: Callable[[int], NoReturn]) -> Iterator[None]:
    """Shut the app down in order if a fatal signal arrives inside the block.

    The app is ended at once by a second signal, or if it has not ended GRACE seconds after the first one. A
    second hangup is ignored, because the kernel, the shell and our own driver each send one.

    Args:
        end: function that requests the end with an exit code; it returns before the app has ended.
        end_at_once: function that ends the app with an exit code. It interrupts the app at any point, so it
            must not wait for a lock, which the app may hold.
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
    """Call `undo` before a signal ends or suspends the program inside the block.

    This leaves signals alone that the program ignores, as after nohup, or handles already, such as Ctrl-C.

    Args:
        undo: function without arguments. It interrupts the program at any point, so it must not wait for a
            lock.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        undo()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, handle)  # a suspended program continues here

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
    """Send SIGHUP to this process because its terminal is lost.

    The kernel does so only for processes that the terminal controls.
    """
    os.kill(os.getpid(), signal.SIGHUP)
