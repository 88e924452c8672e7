"""Results of the runs of a sweep so far: a trace at every point."""

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
    """Traces of a sweep, by the number of the point.

    Traces appear when their runs begin, and grow. `finished` holds the points with complete traces. A point
    where no learner needs to be run has no trace.
    """

    sweep: Sweep
    traces: dict[int, Trace] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    skipped: dict[int, frozenset[str]] = field(default_factory=dict)
    """Learners that are not run at each point, because their reading along an axis is already known."""

    def snapshot(self) -> Results:
        """Return a copy of the results so far, which does not grow."""
        traces = {number: trace.snapshot() for number, trace in sorted(self.traces.items())}
        return Results(self.sweep, traces, set(self.finished), dict(self.skipped))

    @property
    def complete(self) -> bool:
        """Whether every point is finished or skipped."""
        return len(self.finished) + len(self.left_out) == len(self.sweep.points)

    @property
    def left_out(self) -> list[int]:
        """Points at which no learner is run."""
        points = self.sweep.points
        return [
            number
            for number, names in sorted(self.skipped.items())
            if len(names) == len(points[number].experiment.learners)
        ]

    @property
    def share(self) -> float:
        """Finished share of all points; the present point counts in part, skipped points in full."""
        points, remaining = self.points_done
        return 1 - remaining / len(self.sweep.points) if points else 0.0

    @property
    def points_done(self) -> tuple[float, float]:
        """Number of computed points, the present one in part, and the number that may remain."""
        number = max(self.traces, default=None)
        if number is None:
            return 0.0, float(len(self.sweep.points))
        part = 0.0 if number in self.finished else self.traces[number].share
        computed = len(self.finished) + part
        return computed, len(self.sweep.points) - len(self.left_out) - computed

    def experiment(self, number: int) -> Experiment:
        """Return the experiment that is run at a point, without the skipped learners."""
        experiment, skipped = self.sweep.points[number].experiment, self.skipped.get(number)
        if not skipped:
            return experiment
        learners = tuple(learner for learner in experiment.learners if learner.name not in skipped)
        return structs.replace(experiment, learners=learners)


def of_one(
    experiment: Experiment, trace: Trace, unjudged: Mapping[int, str] = MappingProxyType({})
) -> Results:
    """Return the results of a single run so far; `unjudged` has the same form as that of a sweep."""
    finished = {0} if all(curve.ended for curve in trace.curves) else set()
    return Results(replace(only(experiment), unjudged=unjudged), {0: trace}, finished)
