"""A parameter sweep: the runs of its points, one point after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from engine.core.lazy import load_torch
from engine.core.stopping import Stopped, stopped_by
from engine.planning.run_plan import plan_run
from engine.results.gathering import known_at
from engine.results.results import Results
from engine.runtime.drawn_data import DrawnData
from engine.runtime.run import MOST, Finished, Gate, Loaded, run
from engine.runtime.run import Event as RunEvent
from engine.runtime.store import Store
from engine.spec.sweep import Sweep


@dataclass(frozen=True)
class Begun:
    """Event: the results exist, and will grow."""

    results: Results


@dataclass(frozen=True)
class PointDone:
    """Event: every learner at a point of the axes has ended."""

    number: int


Event: TypeAlias = RunEvent | Begun | PointDone


def load_torch_for(sweep: Sweep, threads: int | None = None) -> None:
    """Load torch, with at most `threads` threads, if a point of a sweep needs it."""
    if any(plan_run(point.experiment).needs_torch for point in sweep.points):
        load_torch(threads)


def run_sweep(
    sweep: Sweep,
    gate: Gate = lambda: MOST,
    notify: Callable[[Event], None] = lambda event: None,
    store: Store | None = None,
    turn: float = math.inf,
    stopped: Callable[[], bool] = lambda: False,
) -> Results:
    """Run every point of a sweep; `gate`, `notify` and `turn` are those of `run`. `Finished` comes last.

    Curves in the store are not computed again, and it stores those of every learner that ends. So a sweep
    continues where it was, however the program ended. Points with equal data share them. Along an axis with
    `until`, learners whose reading is known are skipped.

    Args:
        stopped: function that returns whether to end; it is called while numbers are drawn or a solver works,
            when `gate` is not.

    Raises: BadInput, with the point that cannot be run.
    """
    results, data = Results(sweep), DrawnData()
    notify(Begun(results))
    with stopped_by(stopped):
        for number in range(len(sweep.points)):
            if skipped := known_at(results, number):
                results.skipped[number] = skipped
            experiment = results.experiment(number)
            if not experiment.learners:
                continue

            def received(event: RunEvent, number: int = number) -> None:
                if isinstance(event, Loaded):
                    results.traces[number] = event.trace
                if not isinstance(event, Finished):
                    notify(event)

            try:
                trace = run(experiment, gate, received, store, turn, data)
            except Stopped:
                return results
            if not trace.ended:
                return results
            results.finished.add(number)
            notify(PointDone(number))
    notify(Finished(trace))
    return results
