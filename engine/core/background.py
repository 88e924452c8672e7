"""Work in a separate thread, so that the caller can watch, interrupt or stop it."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundWork(Generic[T]):
    """Work that starts in a separate thread when the object is created.

    Python's main thread stays free, so that it responds to Ctrl-C at once. A subclass computes the result in
    `_compute`, which must end early once `_stopped` is set.
    """

    def __init__(self, name: str) -> None:
        """Start a thread called `name`. A subclass must set its attributes before it calls this method."""
        self._stopped = threading.Event()
        self._outcome: Future[T] = Future()
        threading.Thread(target=self._set_outcome, name=name, daemon=True).start()

    @property
    def is_at_work(self) -> bool:
        return not self._outcome.done()

    def wait(self, seconds: float | None = None) -> bool:
        return bool(wait([self._outcome], seconds).done)

    def stop(self) -> None:
        self._stopped.set()

    def finish(self) -> T:
        """Wait until the work ends, and return its result.

        Raises: any exception that `_compute` raises.
        """
        return self._outcome.result()

    def _compute(self) -> T:
        raise NotImplementedError

    def _set_outcome(self) -> None:
        try:
            self._outcome.set_result(self._compute())
        except BaseException as error:
            self._outcome.set_exception(error)
