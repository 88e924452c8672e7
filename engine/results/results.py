"""What the runs of a sweep yield: a trace at every point, as far as they have come."""

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
    """The traces of a sweep, by the number of the point.

    Traces appear when their runs begin and grow meanwhile; `finished` says which are complete. A point at
    which no learner needs to be run has none.
    """

    sweep: Sweep
    traces: dict[int, Trace] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    skipped: dict[int, frozenset[str]] = field(default_factory=dict)
    """The learners of a point that are not run there, as what is read off along an axis is known before."""

    def snapshot(self) -> Results:
        """The results as far as they have come, which do not grow."""
        traces = {number: trace.snapshot() for number, trace in sorted(self.traces.items())}
        return Results(self.sweep, traces, set(self.finished), dict(self.skipped))

    @property
    def complete(self) -> bool:
        """Whether every point is, or need not be run."""
        return len(self.finished) + len(self.left_out) == len(self.sweep.points)

    @property
    def left_out(self) -> list[int]:
        """The points at which no learner is run."""
        points = self.sweep.points
        return [
            number
            for number, names in sorted(self.skipped.items())
            if len(names) == len(points[number].experiment.learners)
        ]

    def experiment(self, number: int) -> Experiment:
        """What is run at a point: its learners but those that are skipped there."""
        experiment, skipped = self.sweep.points[number].experiment, self.skipped.get(number)
        if not skipped:
            return experiment
        learners = tuple(learner for learner in experiment.learners if learner.name not in skipped)
        return structs.replace(experiment, learners=learners)


def of_one(
    experiment: Experiment, trace: Trace, unjudged: Mapping[int, str] = MappingProxyType({})
) -> Results:
    """The results of a single run, as far as it has come; `unjudged` as a sweep has it."""
    finished = {0} if all(curve.ended for curve in trace.curves) else set()
    return Results(replace(only(experiment), unjudged=unjudged), {0: trace}, finished)
