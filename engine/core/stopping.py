"""Cancellation: long work checks repeatedly whether it was stopped, and then ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Seconds between two checks while waiting."""


class Stopped(Exception):
    """The work was cancelled."""


def _never() -> bool:
    return False


_stopped: ContextVar[Callable[[], bool]] = ContextVar("stopped", default=_never)

_turn = threading.Lock()
"""Lock that limits calls of `aside` to one at a time, so that abandoned calls do not pile up."""


@contextmanager
def stopped_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """End long work of this thread inside the block as soon as `stopped` returns True."""
    before = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(before)


def go_on() -> None:
    """Check for cancellation. Raises: Stopped."""
    if _stopped.get()():
        raise Stopped


def aside(call: Callable[[], T]) -> T:
    """Return the result of a long call that cannot check for cancellation itself.

    The call runs in a separate thread. After a cancellation, the thread finishes, and its result is dropped.

    Raises: Stopped.
    """
    if _stopped.get() is _never:
        return call()
    result: Future[T] = Future()

    def work() -> None:
        with _turn:
            try:
                go_on()
                result.set_result(call())
            except BaseException as error:
                result.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), name="aside", daemon=True).start()
    while not result.done():
        go_on()
        wait([result], POLL_SECONDS)
    return result.result()
