"""Workers that train the learners of a finished run again, for panels.

They are imported with the first request, because the first paint does not need them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.running.certificate_worker import CertificateWorker
    from hadamard_tui.running.snapshot_worker import SnapshotWorker


@dataclass(eq=False)
class Retraining:
    """The workers of one finished run; a worker is None until it is requested.

    Args:
        run: the experiment and its trace; None until the run has finished, when requests are ignored.
    """

    run: tuple[Experiment, Trace] | None = None
    certificates: CertificateWorker | None = None
    snapshots: SnapshotWorker | None = None

    def measure_certificates(self, learner: str, again: bool = False) -> None:
        """Measure the certificates of all learners once, the certificate of `learner` next.

        A measurement that was stopped starts again only with `again`.
        """
        from hadamard_tui.running.certificate_worker import CertificateWorker

        is_stopped = self.certificates is not None and self.certificates.stopped
        if self.run is not None and (self.certificates is None or (again and is_stopped)):
            self.certificates = CertificateWorker(*self.run)
        if self.certificates is not None:
            self.certificates.request(learner)

    def take_snapshots(self, learner: str, target: int | None) -> None:
        """Take snapshots of all learners once, of `learner` first."""
        from hadamard_tui.running.snapshot_worker import SnapshotWorker

        if self.run is not None and self.snapshots is None:
            self.snapshots = SnapshotWorker(*self.run, target, learner)

    @property
    def is_at_work(self) -> bool:
        """Whether there may be more to show."""
        return any(worker.is_at_work for worker in self._workers)

    def stop(self) -> None:
        """Stop the workers; their results stay."""
        for worker in self._workers:
            worker.stop()

    def join(self, seconds: float) -> bool:
        """Wait for each thread, at most `seconds`, and return whether all have ended."""
        return all(worker.join(seconds) for worker in self._workers)

    @property
    def _workers(self) -> list[CertificateWorker | SnapshotWorker]:
        return [worker for worker in (self.certificates, self.snapshots) if worker is not None]
