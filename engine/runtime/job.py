"""Sweep that runs in a background thread, so that a caller can watch, interrupt or stop it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.core.background import BackgroundWork
from engine.results.results import Results
from engine.runtime.run import Pacing
from engine.runtime.run_writer import RunWriter
from engine.runtime.spreading import Begin
from engine.runtime.sweep_run import Begun, Event, load_torch_for, run_sweep
from engine.spec.sweep import Sweep

ROUND_SECONDS = 0.2
"""Seconds of one round of the run. After each round, the results grow, and a stop takes effect."""


class Job(BackgroundWork[Results]):
    """A running sweep. After a stop, the curves so far stay.

    Args:
        notify: receives the events of the run, in the thread of the run.
        threads: maximum number of torch's threads, by default without a limit.
        devices: devices to which sweep points, or groups of replicas, are spread.
    """

    def __init__(
        self,
        sweep: Sweep,
        notify: Callable[[Event], None] = lambda event: None,
        writer: RunWriter | None = None,
        threads: int | None = None,
        devices: Sequence[Begin] = (),
    ) -> None:
        self._sweep, self._notify, self._writer, self._threads = sweep, notify, writer, threads
        self._devices = devices
        self._pacing = Pacing(ROUND_SECONDS)
        self.results: Results | None = None
        """Results, which grow during the run; None before the run begins."""
        super().__init__("engine")

    def _compute(self) -> Results:
        load_torch_for(self._sweep, self._threads)
        return run_sweep(
            self._sweep,
            self._allowed_records,
            self._receive_event,
            self._writer,
            ROUND_SECONDS,
            self._stopped.is_set,
            self._devices,
        )

    def _allowed_records(self) -> int:
        return 0 if self._stopped.is_set() else self._pacing.records()

    def _receive_event(self, event: Event) -> None:
        if isinstance(event, Begun):
            self.results = event.results
        self._notify(event)
