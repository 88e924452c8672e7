"""Work in a thread of its own, so that a caller can watch, interrupt or stop it."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundWork(Generic[T]):
    """Work that begins at once. Python's main thread stays free, so that Ctrl-C works at once.

    A subclass computes the outcome in `_compute`, and ends early once `_stopped` is set.
    """

    def __init__(self, name: str) -> None:
        """Begin the work in a thread with a name; the attributes of a subclass come before."""
        self._stopped = threading.Event()
        self._outcome: Future[T] = Future()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end up to `seconds`, or without a limit, and return whether it has come."""
        return bool(wait([self._outcome], seconds).done)

    def stop(self) -> None:
        """End the work after its present piece."""
        self._stopped.set()

    def finish(self) -> T:
        """Wait for the end, and return the outcome. Raises: whatever the work raises."""
        return self._outcome.result()

    def _compute(self) -> T:
        """Return the outcome."""
        raise NotImplementedError

    def _work(self) -> None:
        try:
            self._outcome.set_result(self._compute())
        except BaseException as error:
            self._outcome.set_exception(error)
