"""What the runs of a plan yield: a trace at every point, as far as they have come."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.results.trace import Trace
from engine.spec.experiment import Experiment
from engine.spec.plan import only
from engine.spec.points import Plan


@dataclass(frozen=True, eq=False)
class Results:
    """The traces of a plan, by the number of the point.

    Traces appear when their runs begin and grow meanwhile; `finished` says which are complete.
    """

    plan: Plan
    traces: dict[int, Trace] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)

    def snapshot(self) -> Results:
        """The results as far as they have come, which do not grow."""
        traces = {number: trace.snapshot() for number, trace in sorted(self.traces.items())}
        return Results(self.plan, traces, set(self.finished))

    @property
    def complete(self) -> bool:
        """Whether every point is."""
        return len(self.finished) == len(self.plan.points)


def of_one(experiment: Experiment, trace: Trace) -> Results:
    """The results of a single run."""
    return Results(only(experiment), {0: trace}, {0})
