"""Handling of signals that end the program, and of the loss of the terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

FATAL = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU")
"""Signals that end a program by default and for which a handler can be set."""

GRACE = 2.0
"""Seconds after the first signal in which the app can end by itself. After that, a timer ends it."""


class Terminated(BaseException):
    """Exception in the main thread: a signal asks the program to end.

    Args:
        number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(number: int) -> int:
    """Return the exit code that a shell reports for a program ended by signal `number`."""
    return 128 + number


@contextmanager
def heeded(end: Callable[[int], None], end_at_once: Callable[[int], NoReturn]) -> Iterator[None]:
    """If a signal to terminate arrives inside the block, shut the app down cleanly.

    A second signal ends the app at once. Without a second signal, a timer ends the app GRACE seconds after
    the first signal. A second hangup is ignored: when a terminal closes, the kernel, the shell and our driver
    each send a hangup.

    Args:
        end: function that requests the end with an exit code, and returns before the app has ended.
        end_at_once: function that ends the app with an exit code. It may interrupt code that holds a lock, so
            it must not wait for one.
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
def raised(end_at_once: Callable[[int], NoReturn]) -> Iterator[None]:
    """Raise `Terminated` if a signal is about to end the program inside the block.

    Signals that the program ignores (such as SIGHUP after nohup) or already handles (such as Ctrl-C) are not
    affected. A second signal is ignored, because the command `timeout` sends two signals, and so does a
    closing terminal. A timer ends the program GRACE seconds after the first signal, even after the block.
    Without the timer, the program could not end while it waits for a terminal that does not accept output.

    Args:
        end_at_once: function that ends the program with an exit code. It may interrupt code that holds a
            lock, so it must not wait for one.
    """
    first: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if not first:
            first.append(number)
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, GRACE)
            raise Terminated(number)
        if number == signal.SIGALRM:
            end_at_once(exit_code(first[0]))

    unhandled = _unhandled_signals(FATAL)
    for number in unhandled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        if not first:
            for number in unhandled:
                signal.signal(number, signal.SIG_DFL)


def _unhandled_signals(signal_names: Sequence[str]) -> list[signal.Signals]:
    numbers = [signal.Signals[signal_name] for signal_name in signal_names]
    return [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]


@contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """If a signal is about to end or suspend the program inside the block, call `undo` first.

    Signals that the program ignores (such as SIGHUP after nohup) or already handles (such as Ctrl-C) are not
    affected.

    Args:
        undo: function that may interrupt code that holds a lock, so it must not wait for one.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        undo()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, handle)  # after a suspension, the program continues here

    unhandled = _unhandled_signals((*FATAL, "SIGTSTP"))
    for number in unhandled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)


def hang_up() -> None:
    """Send SIGHUP to this process, because its terminal is lost.

    The kernel sends this signal only if the lost terminal is the controlling terminal of the process.
    """
    os.kill(os.getpid(), signal.SIGHUP)
