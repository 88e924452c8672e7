"""The only loop: an experiment becomes a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine import __version__, catalogue, memory
from engine import device as devices
from engine.bounds import Bound, Labels
from engine.experiment import Experiment, check
from engine.free_memory import in_words
from engine.hypothesis import rates_of
from engine.invariance import verdict
from engine.lazy import torch
from engine.pacing import MOST
from engine.parts import BadInput
from engine.paths import way
from engine.problems.data import Data, draw
from engine.protocols import Course
from engine.streams import Streams
from engine.trace import BoundCurve, Curve, Floats, Trace, stride_of_weights
from engine.updates import BEST

SMALL = 8 << 20
"""Runs of at most so many bytes stay on one thread: several would wait for one another most of the time."""

WAITING = 4 << 20
"""Bytes of weights of a curve that may wait for the end of a round to be kept in the trace."""

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
    experiment: Experiment, gate: Gate = lambda: MOST, notify: Callable[[Event], None] = lambda event: None
) -> Trace:
    """Run all learners of an experiment side by side, a few records at a time.

    Curves are the same, bit by bit, in whatever rounds they were computed.

    Raises: BadInput for an experiment that cannot be run here, before anything large is allocated, and for
    one that memory was not enough for after all; the curves so far are in the trace that was told of.
    """
    small = memory.fits(experiment, SMALL)
    most, scattered = _most_records(experiment), memory.scatters(experiment)
    trace: Trace | None = None
    with torch.no_grad(), devices.threads(1 if small else None):
        try:
            trace, trials = prepare(experiment)
            notify(Loaded(trace))
            active = list(trials)
            while active and (records := gate()):
                for trial in list(active):
                    if scattered:
                        memory.give_back()
                    for curve in trial.advance(min(records, most)):
                        assert curve.diverged_at is not None, "only curves that diverged are told of"
                        notify(Diverged(curve.name, curve.diverged_at))
                    if trial.ended:
                        trial.settle()
                        active.remove(trial)
        except (MemoryError, RuntimeError) as error:
            if not memory.ran_out(error):
                raise
            when = "before the first record" if trace is None else f"after k = {trace.frontier:g}"
            what = f"{devices.resolve(experiment.run.device)} ran out of memory {when}"
            raise BadInput(
                "run.device", f"{what}; take fewer replicas, fewer rates or a smaller d"
            ) from error
    if not active:
        notify(Finished(trace))
    return trace


@dataclass(frozen=True)
class Trial:
    """A learner on its course, with one curve per rate that it tries.

    `shown` is the curve in the trace: the only one, or for the best rate in hindsight the winner's copy.
    """

    course: Course
    curves: list[Curve]
    shown: Curve | None

    @property
    def ended(self) -> bool:
        """Whether every curve is complete or has diverged."""
        return all(curve.ended for curve in self.curves)

    def advance(self, records: int) -> list[Curve]:
        """Go on for some records; the curves that diverged in them."""
        block = self.course.advance(records)
        diverged = []
        for variant, curve in enumerate(self.curves):
            if curve.ended or not len(block.x):
                continue
            sound = _sound(curve, block.loss[:, :, variant])
            curve.append(
                block.x[:sound],
                block.loss[:sound, :, variant],
                {name: values[:sound, :, variant] for name, values in block.measures.items()},
                {record: each[variant] for record, each in block.weights.items() if record < sound},
                None if block.spectrum is None else block.spectrum[:sound, variant],
            )
            if sound < len(block.x):
                curve.diverged_at = float(block.x[sound])
                diverged.append(curve)
            curve.ended = sound < len(block.x) or curve.complete
        return diverged

    def settle(self) -> None:
        """Compare the rates in hindsight by the mean of their curves."""
        best = min(self.curves, key=Curve.mean_loss)
        best.best = True
        if self.shown is not None:
            self.shown.copy(best, self.curves)


def prepare(experiment: Experiment) -> tuple[Trace, list[Trial]]:
    """Draw the data, compute the bounds, and put every learner at its start."""
    check(experiment)
    device = devices.resolve(experiment.run.device)
    need = memory.check(experiment, device)
    seeds = range(experiment.run.seed, experiment.run.seed + experiment.run.replicas)
    streams = Streams(seeds)
    data = draw(experiment.problem, streams, experiment.run.dtype, device)
    data = replace(data, train_loss=experiment.run.train_loss, spectrum=experiment.run.spectrum)
    loss = catalogue.make("losses", experiment.protocol.loss)
    x = experiment.protocol.grid(data.instances.n)
    trials = []
    for learner in experiment.learners:
        rates, judged = rates_of(learner), verdict(learner, experiment)
        path, given, seen = way(learner, experiment, data)
        begin = experiment.protocol.swept if path == "compiled" else experiment.protocol.course
        course = begin(given, seen.with_variants(len(rates)), loss, streams)
        curves = [
            Curve(
                learner.name if len(rates) == 1 else f"{learner.name} η={rate:.4g}",
                len(x),
                experiment.run.replicas,
                judged,
                learner.name,
                None if len(rates) == 1 else rate,
                path,
            )
            for rate in rates
        ]
        shown = None
        if getattr(learner.update, "lr", None) == BEST:
            shown = Curve(learner.name, len(x), experiment.run.replicas, judged, path=path)
            shown.hindsight = True
        trials.append(Trial(course, curves, shown))
    trace = Trace(
        [curve for trial in trials for curve in ([trial.shown] if trial.shown else trial.curves)],
        bounds_of(experiment, data, x),
        x,
        x_label=experiment.protocol.x_label,
        y_label=f"average {loss.kind} loss",
        environment={
            "version": __version__,
            "torch": str(torch.__version__),
            "device": devices.describe(device),
            "dtype": experiment.run.dtype,
            "memory": in_words(need),
        },
    )
    return trace, trials


def bounds_of(experiment: Experiment, data: Data, x: Floats) -> list[BoundCurve]:
    """Every bound of the catalogue with its findings; those that hold on the problem have a curve."""
    labels = Labels(data.labels.view(data.replicas, data.targets, -1).cpu().numpy())
    seen = experiment.protocol.seen(x, data.instances.n)
    bounds = []
    for kind in catalogue.members("bounds"):
        bound: Bound = catalogue.make("bounds", kind)
        on_problem = bound.on(experiment)
        nothing = np.empty(0)
        bounds.append(
            BoundCurve(
                kind=kind,
                sense=bound.sense,
                in_expectation=bound.in_expectation,
                formula=bound.formula,
                source=bound.source,
                on_problem=on_problem,
                on_learners={
                    learner.name: bound.binds(learner, experiment) if on_problem.holds else on_problem
                    for learner in experiment.learners
                },
                x=x if on_problem.holds else nothing,
                loss=bound.curve(experiment, labels, seen) if on_problem.holds else nothing,
            )
        )
    return bounds


def _most_records(experiment: Experiment) -> int:
    """How many records a learner may add in a round, so that few weights wait to be kept."""
    n, d = experiment.problem.matrix.shape()
    size = memory.vector_bytes(experiment)
    stride = stride_of_weights(experiment.protocol.records(n), d, size // d)
    return stride * max(1, WAITING // size)


def _sound(curve: Curve, loss: Floats) -> int:
    """How many records with losses [S, R] come before the first that is not finite or has diverged."""
    initial = float(curve.loss[0]) if curve.length else float(loss[0].mean())
    limit = DIVERGED * (initial if initial > 0 else 1.0)
    bad = ~(np.isfinite(loss) & (loss <= limit)).all(1)
    return int(bad.argmax()) if bad.any() else len(loss)
