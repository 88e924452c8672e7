"""Take snapshots of the learners of a run in a thread, by training them once more."""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING

from engine.core.stopping import Stopped, stopped_by
from engine.results.snapshots import Snapshots, take, why_not

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment


class SnapshotWorker:
    """Trains the learners of a run once more, one after the other, and keeps snapshots of them.

    `found` and its snapshots grow while the thread works; panels read them whenever they draw.
    """

    def __init__(self, experiment: Experiment, trace: Trace, target: int | None, first: str) -> None:
        self.found: dict[str, Snapshots] = {}
        """Snapshots by learner."""

        self.reasons: dict[str, str] = {}
        """Why a learner has no snapshots, by learner."""

        self._experiment, self._trace, self._target, self._first = experiment, trace, target, first
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="snapshots", daemon=True)
        self._thread.start()

    @property
    def state(self) -> tuple[object, ...]:
        """Value that changes whenever there is something new to show."""
        return len(self.reasons), sum(len(snapshots.x) for snapshots in list(self.found.values()))

    def stop(self) -> None:
        """End after the current record; finished snapshots stay."""
        self._stop.set()

    @property
    def is_at_work(self) -> bool:
        """Whether there may be more to show."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> bool:
        """Wait for the thread, at most `seconds`, and return whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _going(self, done: float) -> None:
        if self._stop.is_set():
            raise Stopped

    def _work(self) -> None:
        for learner in sorted(self._experiment.learners, key=lambda learner: learner.name != self._first):
            if reason := why_not(self._experiment):
                self.reasons[learner.name] = reason
                continue

            def store(snapshots: Snapshots, name: str = learner.name) -> None:
                self.found[name] = snapshots

            try:
                rate = self._trace.curve(learner.name).rate
                with stopped_by(self._stop.is_set):
                    take(self._experiment, learner, rate, self._target, store, self._going)
            except Stopped:
                return
            except Exception:
                self.reasons[learner.name] = traceback.format_exc().strip().rsplit("\n", 1)[-1]
