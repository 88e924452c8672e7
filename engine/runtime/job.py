"""A sweep that runs in a thread of its own, so that a caller can watch, interrupt or stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

from engine.results.results import Results
from engine.runtime.run import Pacing
from engine.runtime.run_writer import RunWriter
from engine.runtime.sweep_run import Begun, Event, load_torch_for, run_sweep
from engine.spec.sweep import Sweep

ROUND_SECONDS = 0.2
"""Seconds of a round of the run, after which the results grow and a stop takes effect."""


class Job:
    """A running sweep. Python's main thread stays free, so that Ctrl-C works at once.

    Args:
        notify: receives the events of the run, in its thread.
        threads: maximum number of torch's threads, by default without a limit.
    """

    def __init__(
        self,
        sweep: Sweep,
        notify: Callable[[Event], None] = lambda event: None,
        writer: RunWriter | None = None,
        threads: int | None = None,
    ) -> None:
        self._sweep, self._notify, self._writer, self._threads = sweep, notify, writer, threads
        self._pacing, self._stopped = Pacing(ROUND_SECONDS), threading.Event()
        self._outcome: Future[Results] = Future()
        self.results: Results | None = None
        """Growing results; None before the run begins."""
        threading.Thread(target=self._work, name="engine", daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end up to `seconds`, or without a limit, and return whether the run has ended."""
        return bool(wait([self._outcome], seconds).done)

    def stop(self) -> None:
        """End the run after the current round; the curves so far stay."""
        self._stopped.set()

    def finish(self) -> Results:
        """Wait for the end, and return the results. Raises: BadInput, and any other error of the engine."""
        return self._outcome.result()

    def _work(self) -> None:
        try:
            load_torch_for(self._sweep, self._threads)
            self._outcome.set_result(
                run_sweep(
                    self._sweep, self._gate, self._receive, self._writer, ROUND_SECONDS, self._stopped.is_set
                )
            )
        except BaseException as error:
            self._outcome.set_exception(error)

    def _gate(self) -> int:
        return 0 if self._stopped.is_set() else self._pacing.records()

    def _receive(self, event: Event) -> None:
        if isinstance(event, Begun):
            self.results = event.results
        self._notify(event)
