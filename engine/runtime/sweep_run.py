"""Parameter sweep: the runs of its sweep points, one point after the other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from engine.core.lazy import load_torch
from engine.core.machine import SECONDS, MachineSample, Sampler
from engine.core.stopping import Stopped, stopped_by
from engine.planning.run_plan import plan_run
from engine.results.gathering import known_at
from engine.results.results import Results
from engine.runtime.drawn_data import DrawnData
from engine.runtime.run import MOST, Finished, Gate, Loaded, NotKept, run
from engine.runtime.run import Event as RunEvent
from engine.runtime.run_writer import RunWriter
from engine.runtime.spreading import Begin, Spread
from engine.runtime.stored_run import StoredRun
from engine.spec.sweep import Sweep


@dataclass(frozen=True)
class Begun:
    """Event: the results object of a run exists. It grows during the run."""

    results: Results
    run: str | None = None
    """Name of the run in the store, or None if there is no store."""


@dataclass(frozen=True)
class PointDone:
    """Event: the runs of all learners at a sweep point have ended."""

    number: int


@dataclass(frozen=True)
class Removed:
    """Event: earlier runs were removed from the store to make room."""

    runs: list[StoredRun]


@dataclass(frozen=True)
class Stored:
    """Event: the run is completely stored. It is sent after `Finished`, or after a stop."""

    run: str
    """Name of the run. If nothing was computed, it is the name of an equal earlier run."""


@dataclass(frozen=True)
class Sampled:
    """Event: a measurement of the machine's use. It is sent at most once a second while the run works."""

    sample: MachineSample


Event: TypeAlias = RunEvent | Begun | PointDone | Removed | Stored | Sampled


def load_torch_for(sweep: Sweep, threads: int | None = None) -> None:
    """If a run of the sweep needs torch, load it, with at most `threads` threads."""
    if any(plan_run(point.experiment).needs_torch for point in sweep.points):
        load_torch(threads)


def run_sweep(
    sweep: Sweep,
    gate: Gate = lambda: MOST,
    notify: Callable[[Event], None] = lambda event: None,
    writer: RunWriter | None = None,
    turn: float = math.inf,
    stopped: Callable[[], bool] = lambda: False,
    devices: Sequence[Begin] = (),
) -> Results:
    """Run all sweep points of a sweep, one after the other, and return the results.

    `gate`, `notify` and `turn` are as in `run`; the event `Finished` is sent once, at the end of the sweep.

    Curves in the store are not computed again, and the curves of every learner that ends are stored. So a
    sweep that is started again continues where it ended. Sweep points with equal data share the data. Along a
    sweep axis with `until`, a learner is skipped once the numbers that pictures read off are known.

    Args:
        writer: writes the run into a store.
        stopped: function that returns whether to end the run. It is called while numbers are drawn or a
            solver works, because `gate` is not called then.
        devices: devices of one kind to which sweep points, or groups of replicas, are spread; without any,
            this process computes everything.

    Raises: BadInput, with the sweep point that cannot be run.
    """
    results, look = Results(sweep), _new_sampler(notify, writer)
    gate, spread = _sampling_gate(gate, look), Spread(sweep, devices) if devices else None
    work = partial(_run_points, results, gate, notify, writer, turn, stopped, spread)
    try:
        if writer is None:
            notify(Begun(results))
            work()
            return results
        writer.begin(sweep)
        notify(Begun(results, writer.run))
        state = "failed"
        try:
            state = "finished" if work() else "stopped"
        finally:
            writer.end(results, state)
            if (why := writer.new_fault()) is not None:
                notify(NotKept(why))
            if writer.removed:
                notify(Removed(writer.removed))
        notify(Stored(writer.run))
        return results
    finally:
        if spread is not None:
            spread.end()


Look: TypeAlias = Callable[[bool], None]
"""Function that samples the machine's use once a second. The argument True means that the run was idle."""


def _new_sampler(notify: Callable[[Event], None], writer: RunWriter | None) -> Look:
    sampler = Sampler()

    def look(was_at_rest: bool = False) -> None:
        if was_at_rest:
            sampler.rest()
        elif (sample := sampler.sample()) is not None:
            notify(Sampled(sample))
            if writer is not None:
                writer.append_sample(sample)

    return look


def _sampling_gate(gate: Gate, look: Look) -> Gate:
    """Return a gate that samples the machine's use before it calls `gate`.

    If the gate waits longer than SECONDS, the run was probably paused. The next sample then covers only the
    time after the wait.
    """

    def looking() -> int:
        look(False)
        began = time.monotonic()
        records = gate()
        if time.monotonic() - began > SECONDS:
            look(True)
        return records

    return looking


def _run_points(
    grown: Results,
    gate: Gate,
    notify: Callable[[Event], None],
    writer: RunWriter | None,
    turn: float,
    stopped: Callable[[], bool],
    spread: Spread | None,
) -> bool:
    sweep, data, trace = grown.sweep, DrawnData(), None
    with stopped_by(stopped):
        for number in range(len(sweep.points)):
            if skipped := known_at(grown, number):
                grown.skipped[number] = skipped
            if writer is not None:
                writer.at(number)
                writer.skip(grown.skipped)
            experiment = grown.experiment(number)
            if not experiment.learners:
                continue

            def received(event: RunEvent, number: int = number) -> None:
                if isinstance(event, Loaded):
                    grown.traces[number] = event.trace
                if not isinstance(event, Finished):
                    notify(event)

            try:
                keeper = writer if spread is None else spread.reach(number, grown, writer, gate)
                trace = run(experiment, gate, received, keeper, turn, data, spread is not None)
            except Stopped:
                return False
            if not trace.ended:
                return False
            grown.finished.add(number)
            if writer is not None:
                writer.point_done(trace)
            notify(PointDone(number))
    assert trace is not None, "the first point is never skipped"
    notify(Finished(trace))
    return True
