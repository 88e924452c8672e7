"""The only loop: an experiment becomes a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine import __version__, catalogue, memory
from engine import device as devices
from engine.bounds import Bound
from engine.experiment import Experiment, check
from engine.hypothesis import begin
from engine.invariance import verdict
from engine.lazy import torch
from engine.problems.data import Data, draw
from engine.protocols import Block, Course
from engine.streams import Streams
from engine.trace import BoundCurve, Curve, Trace

BLOCK = 64
"""Records between two looks at the gate when nobody watches."""

DIVERGED = 1e6
"""A learner whose loss exceeds so many times its initial loss is stopped. Source: theory.md §10."""


@dataclass(frozen=True)
class Loaded:
    """The data is drawn; the trace exists and will grow."""

    trace: Trace


@dataclass(frozen=True)
class Diverged:
    """One learner was stopped because its loss is not finite or far above where it started."""

    learner: str
    x: float


@dataclass(frozen=True)
class Finished:
    """Every learner came to its end."""

    trace: Trace


Event = Loaded | Diverged | Finished
Gate = Callable[[], int]
"""Asked before every round; says how many records each learner may add, 0 to stop the run."""


def run(
    experiment: Experiment, gate: Gate = lambda: BLOCK, notify: Callable[[Event], None] = lambda event: None
) -> Trace:
    """Run all learners of an experiment side by side, a few records at a time.

    Raises: BadInput for an experiment that cannot be run here, before anything large is allocated.
    """
    trace, courses = prepare(experiment)
    notify(Loaded(trace))
    active = list(zip(trace.curves, courses, strict=True))
    with torch.no_grad():
        while active and (records := gate()):
            for curve, course in list(active):
                block = course.advance(records)
                sound = _sound(curve, block)
                curve.append(*block.first(sound))
                if sound < len(block.x):
                    curve.diverged_at = float(block.x[sound])
                    notify(Diverged(curve.name, curve.diverged_at))
                if sound < len(block.x) or curve.complete:
                    curve.ended = True
                    active.remove((curve, course))
    if not active:
        notify(Finished(trace))
    return trace


def prepare(experiment: Experiment) -> tuple[Trace, list[Course]]:
    """Draw the data, compute the bounds, and put every learner at its start."""
    check(experiment)
    device = devices.resolve(experiment.run.device)
    memory.check(experiment, device)
    seeds = range(experiment.run.seed, experiment.run.seed + experiment.run.replicas)
    streams = Streams(seeds)
    data = draw(experiment.problem, streams, experiment.run.dtype, device)
    loss = catalogue.make("losses", experiment.protocol.loss)
    records = experiment.protocol.records(data.instances.n)
    trace = Trace(
        [
            Curve(learner.name, records, experiment.run.replicas, verdict(learner, experiment))
            for learner in experiment.learners
        ],
        bounds_of(experiment, data, records),
        x_label="examples k",
        y_label=f"average {loss.kind} loss",
        environment={
            "version": __version__,
            "torch": str(torch.__version__),
            "device": devices.describe(device),
            "dtype": experiment.run.dtype,
        },
    )
    courses = [
        experiment.protocol.course(begin(learner, loss, data, streams), data, loss)
        for learner in experiment.learners
    ]
    return trace, courses


def bounds_of(experiment: Experiment, data: Data, records: int) -> list[BoundCurve]:
    """Every bound of the catalogue with its findings; those that hold on the problem have a curve."""
    labels = data.labels.view(data.replicas, data.targets, -1).cpu().numpy()
    x = np.arange(records, dtype=np.float64)
    bounds = []
    for kind in catalogue.members("bounds"):
        bound: Bound = catalogue.make("bounds", kind)
        on_problem = bound.on(experiment)
        nothing = np.empty(0)
        bounds.append(
            BoundCurve(
                kind=kind,
                sense=bound.sense,
                formula=bound.formula,
                source=bound.source,
                on_problem=on_problem,
                on_learners={
                    learner.name: bound.binds(learner, experiment) if on_problem.holds else on_problem
                    for learner in experiment.learners
                },
                x=x if on_problem.holds else nothing,
                loss=bound.curve(experiment, labels, x) if on_problem.holds else nothing,
            )
        )
    return bounds


def _sound(curve: Curve, block: Block) -> int:
    """How many records of a block come before the first that is not finite or has diverged."""
    if not len(block.x):
        return 0
    initial = curve.loss[:1] if curve.length else block.loss[0].mean(keepdims=True)
    limit = DIVERGED * (initial[0] if initial[0] > 0 else 1.0)
    bad = ~(np.isfinite(block.loss) & (block.loss <= limit)).all(1)
    return int(bad.argmax()) if bad.any() else len(block.x)
