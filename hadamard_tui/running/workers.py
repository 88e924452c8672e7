"""Threads that retrain the learners of a run, to test their invariances or to store weight snapshots."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from engine.core.background import BackgroundWork
from engine.core.stopping import Stopped, stopped_by
from engine.judging.judgement import LearnerJudgement, judgement
from engine.results.snapshots import Snapshots, take, why_not

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment


class CertificateWorker(BackgroundWork[None]):
    """Thread that tests the invariances of a finished run's learners. A requested learner is tested first.

    Each learner trains three more times, or at least twelve times if rotations change its predictions. Panels
    may read `judged` and `failed` while the thread works, and after `stop`.
    """

    def __init__(self, experiment: Experiment, trace: Trace) -> None:
        self.judged: dict[str, LearnerJudgement] = {}
        self.failed: dict[str, str] = {}
        self.at: str | None = None
        """Name of the learner that is being measured."""
        self.percent = 0
        self._experiment, self._trace = experiment, trace
        self._first: str | None = None
        super().__init__("certificates")

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    @property
    def state(self) -> tuple[object, ...]:
        """Value that changes whenever the worker has a new result or more progress."""
        return len(self.judged), len(self.failed), self.at, self.percent, self.stopped

    def request(self, learner_name: str) -> None:
        self._first = learner_name

    def _report_progress(self, done: float) -> None:
        if self._stopped.is_set():
            raise Stopped
        self.percent = int(100 * done)

    def _compute(self) -> None:
        waiting = {learner.name: learner for learner in self._experiment.learners}
        while waiting and not self.stopped:
            learner_name = self._first if self._first in waiting else next(iter(waiting))
            learner = waiting.pop(learner_name)
            self.at, self.percent = learner_name, 0
            try:
                with stopped_by(self._stopped.is_set):
                    self.judged[learner_name] = judgement(
                        self._experiment, self._trace, learner, self._report_progress
                    )
            except Stopped:
                break
            except Exception:
                self.failed[learner_name] = traceback.format_exc().strip().rsplit("\n", 1)[-1]
        self.at = None


class SnapshotWorker(BackgroundWork[None]):
    """Thread that retrains the learners of a run one by one, and stores snapshots of their weights.

    Panels may read the snapshots in `by_learner` while the thread works, and after `stop`.
    """

    def __init__(self, experiment: Experiment, trace: Trace, target: int | None, first: str) -> None:
        self.by_learner: dict[str, Snapshots] = {}

        self.reasons: dict[str, str] = {}
        """Reasons why some learners have no snapshots, by learner name."""

        self._experiment, self._trace, self._target, self._first = experiment, trace, target, first
        super().__init__("snapshots")

    @property
    def state(self) -> tuple[object, ...]:
        """Value that changes whenever the worker has stored another snapshot or given up a learner."""
        return len(self.reasons), sum(len(snapshots.x) for snapshots in list(self.by_learner.values()))

    def _raise_if_stopped(self, done: float) -> None:
        if self._stopped.is_set():
            raise Stopped

    def _compute(self) -> None:
        for learner in sorted(self._experiment.learners, key=lambda learner: learner.name != self._first):
            if reason := why_not(self._experiment):
                self.reasons[learner.name] = reason
                continue

            def store(snapshots: Snapshots, learner_name: str = learner.name) -> None:
                self.by_learner[learner_name] = snapshots

            try:
                rate = self._trace.curve(learner.name).rate
                with stopped_by(self._stopped.is_set):
                    take(self._experiment, learner, rate, self._target, store, self._raise_if_stopped)
            except Stopped:
                return
            except Exception:
                self.reasons[learner.name] = traceback.format_exc().strip().rsplit("\n", 1)[-1]
