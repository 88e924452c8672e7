"""Views and headlines of growing results, and workers that retrain learners, all made on demand.

The functions import the code of views and workers themselves, because the first paint does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.pictures.picture import Picture
    from engine.pictures.view import View
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.plots.look import Look
    from hadamard_tui.running.workers import CertificateWorker, SnapshotWorker


class Viewed:
    """Cache of the latest view of each picture of a run."""

    def __init__(self, letters: Mapping[str, int] = MappingProxyType({})) -> None:
        """Start with an empty cache.

        Args:
            letters: for each learner, by name, the number that determines its letter and colour.
        """
        self._letters = letters
        self._views: dict[str, tuple[object, View]] = {}

    def view(self, picture: Picture, results: Results) -> View:
        """Return the view of a picture for the current results.

        Raises: BadInput if these results do not have the picture.
        """
        from engine.results.views import view

        extent, picture_key = _extent_of_results(results), repr(picture)
        cached = self._views.get(picture_key)
        if cached is None or cached[0] != extent:
            newest = with_letters(view(picture, results.snapshot()), self._letters)
            cached = self._views[picture_key] = extent, newest
        return cached[1]


def _extent_of_results(results: Results) -> object:
    """Return a summary of `results` that changes when results are added.

    A cached view is outdated if the summary has changed.
    """
    return len(results.skipped), [
        (
            number,
            trace,
            [(curve.length, curve.diverged, curve.ended) for curve in trace.curves],
            [curve.length for curve in trace.side_curves],
            list(trace.lines),
        )
        for number, trace in sorted(results.traces.items())
    ]


def with_letters(view: View, learners: Mapping[str, int]) -> View:
    """Return a view whose curves have the letters and colours of their learners.

    The number of a curve determines its letter and colour. The first curve of a learner gets the number of
    the learner, and its other curves get unused numbers. If sweep axes split the curves, the view is returned
    unchanged.

    Args:
        learners: the number of each learner, by name.
    """
    if not learners or any(curve.apart for curve in view.curves):
        return view
    unused, further_numbers = dict(learners), count(max(learners.values()) + 1)
    numbers = [
        unused.pop(curve.learner) if curve.learner in unused else next(further_numbers)
        for curve in view.curves
    ]
    pairs = zip(view.curves, numbers, strict=True)
    return replace(
        view,
        curves=[replace(curve, number=number) for curve, number in pairs],
        beneath_of=lambda: None if view.beneath is None else with_letters(view.beneath, learners),
    )


def headline_of_look(
    look: Look, experiment: Experiment, outcomes: Sequence[Outcome], results: Results | None = None
) -> str:
    """Return the headline of a chart, which states its finding.

    If the chart also shows a pinned run that can be compared, the headline states how the set-ups and the
    curves of both runs differ.
    """
    from engine.results.headlines import (
        comparison,  # imported here, because no headline is shown before a run
        headline,
        headline_of,
    )

    if look.pinned and (change := look.pinned[-1].change):
        outcome = headline_of(look.view, experiment, outcomes)
        curve = None if outcome is None else outcome.claim.curve
        if sentence := comparison(change, look.pinned[-1].view, look.view, curve):
            return sentence
    return headline(look.view, experiment, outcomes, results)


@dataclass(eq=False)
class Retraining:
    """Workers that retrain the learners of a finished run. A worker is None until it is requested.

    Args:
        run: the experiment and its results; None before the end of the run. Until then, requests are ignored.
    """

    run: tuple[Experiment, Trace] | None = None
    certificates: CertificateWorker | None = None
    snapshots: SnapshotWorker | None = None

    def measure_certificates(self, learner_name: str, again: bool = False) -> None:
        """Start to test the invariances of all learners. The learner `learner_name` is tested next.

        The results are called certificates. With `again`, tests that were stopped start again.
        """
        from hadamard_tui.running.workers import CertificateWorker

        is_stopped = self.certificates is not None and self.certificates.stopped
        if self.run is not None and (self.certificates is None or (again and is_stopped)):
            self.certificates = CertificateWorker(*self.run)
        if self.certificates is not None:
            self.certificates.request(learner_name)

    def take_snapshots(self, learner_name: str, target: int | None) -> None:
        """Start to store snapshots of the weights of all learners, `learner_name` first."""
        from hadamard_tui.running.workers import SnapshotWorker

        if self.run is not None and self.snapshots is None:
            self.snapshots = SnapshotWorker(*self.run, target, learner_name)

    @property
    def is_at_work(self) -> bool:
        return any(worker.is_at_work for worker in self._workers)

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def join(self, seconds: float) -> bool:
        return all(worker.wait(seconds) for worker in self._workers)

    @property
    def _workers(self) -> list[CertificateWorker | SnapshotWorker]:
        return [worker for worker in (self.certificates, self.snapshots) if worker is not None]
