"""Results of a sweep so far: one trace for every sweep point that has been run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from msgspec import structs

from engine.results.trace import Trace
from engine.spec.experiment import Experiment
from engine.spec.sweep import Sweep, only


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a sweep so far. `traces` holds the results of each run, by the index of its sweep point.

    A trace is added when its run begins, and grows until the run ends. `finished` holds the indices of the
    sweep points whose runs have ended. Sweep points at which no learner needs to be run have no trace.
    """

    sweep: Sweep
    traces: dict[int, Trace] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    skipped: dict[int, frozenset[str]] = field(default_factory=dict)
    """Learners that are not run at a sweep point, by the index of the point.

    A learner is skipped if its results at other sweep points already determine what the pictures show.
    """

    def snapshot(self) -> Results:
        traces = {number: trace.snapshot() for number, trace in sorted(self.traces.items())}
        return Results(self.sweep, traces, set(self.finished), dict(self.skipped))

    @property
    def complete(self) -> bool:
        return len(self.finished) + len(self.left_out) == len(self.sweep.points)

    @property
    def left_out(self) -> list[int]:
        points = self.sweep.points
        return [
            number
            for number, names in sorted(self.skipped.items())
            if len(names) == len(points[number].experiment.learners)
        ]

    @property
    def share(self) -> float:
        """Finished share of the sweep, 0 to 1.

        Sweep points that are left out count as finished. A running sweep point counts by its finished share.
        """
        points, remaining = self.points_done
        return 1 - remaining / len(self.sweep.points) if points else 0.0

    @property
    def points_done(self) -> tuple[float, float]:
        """Number of finished sweep points, and number of sweep points that remain to be computed.

        A running sweep point adds its finished share to the first number, and the rest to the second.
        """
        number = max(self.traces, default=None)
        if number is None:
            return 0.0, float(len(self.sweep.points))
        part = 0.0 if number in self.finished else self.traces[number].share
        computed = len(self.finished) + part
        return computed, len(self.sweep.points) - len(self.left_out) - computed

    def experiment(self, number: int) -> Experiment:
        experiment, skipped = self.sweep.points[number].experiment, self.skipped.get(number)
        if not skipped:
            return experiment
        learners = tuple(learner for learner in experiment.learners if learner.name not in skipped)
        return structs.replace(experiment, learners=learners)


def of_one(
    experiment: Experiment, trace: Trace, unjudged: Mapping[int, str] = MappingProxyType({})
) -> Results:
    """Return the results of a single run as those of a sweep with one point.

    Args:
        unjudged: reasons why claims are not judged, by the index of the claim.
    """
    finished = {0} if all(curve.ended for curve in trace.curves) else set()
    return Results(replace(only(experiment), unjudged=unjudged), {0: trace}, finished)
