"""Whether what is computed is still wanted: long work checks again and again, and ends where it is not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Between two looks at whether to wait on."""


class Stopped(Exception):
    """What was computed is no longer wanted."""


def _never() -> bool:
    return False


_stopped: ContextVar[Callable[[], bool]] = ContextVar("stopped", default=_never)

_turn = threading.Lock()
"""One call at a time is at work aside: those that nobody waits for any more do not pile up."""


@contextmanager
def stopped_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """Within it, long work of this thread ends once `stopped` says so."""
    before = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(before)


def go_on() -> None:
    """Raises: Stopped, if this is no longer wanted."""
    if _stopped.get()():
        raise Stopped


def aside(call: Callable[[], T]) -> T:
    """What a call returns or raises that may be long in one piece, where nothing can check whether to go on.

    It is made in a thread of its own, which goes on to its end unheeded once this is no longer wanted.

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
