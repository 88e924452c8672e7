"""Cancellation: long computations check repeatedly whether they were cancelled, and then end."""

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
    """Exception: the computation was cancelled."""


def _never_stops() -> bool:
    return False


_stopped: ContextVar[Callable[[], bool]] = ContextVar("stopped", default=_never_stops)

_turn = threading.Lock()
"""Lock that lets only one call of `aside` compute at a time, so that abandoned calls do not pile up."""


@contextmanager
def stopped_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """Inside the block, cancel computations at their next check after `stopped` returns True."""
    before = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(before)


def go_on() -> None:
    """Raise Stopped if the computation was cancelled."""
    if _stopped.get()():
        raise Stopped


def aside(call: Callable[[], T]) -> T:
    """Run a long call that does not check for cancellation itself, and return its result.

    Inside a block of `stopped_by`, the call runs in a separate thread. After a cancellation, this function
    raises Stopped, while the thread finishes the call and drops the result.
    """
    if _stopped.get() is _never_stops:
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
