"""Main loop, which runs an experiment and records its trace.

`python -m engine.runtime.run EXPERIMENT` runs an experiment given as JSON, to leave compiled code on disk.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine import __version__
from engine.core import device as devices
from engine.core.cost import Cost, divergence_limit
from engine.core.lazy import torch
from engine.core.memory import in_words
from engine.core.outside import outside
from engine.core.parts import BadInput
from engine.core.stopping import Stopped
from engine.core.streams import Streams
from engine.measures.loss import AverageLoss
from engine.planning import memory_estimate
from engine.planning.memory_estimate import needed_bytes, scatters, takes_matrix
from engine.planning.run_plan import LearnerPlan, RunPlan, plan_run
from engine.problems.data import Data
from engine.problems.examples import Examples
from engine.problems.matrices import Rows
from engine.protocols import CLOCKS, EarlyEnd
from engine.results.trace import Curve, Floats, Trace, settle
from engine.runtime.compiling import Handover, compile_meanwhile
from engine.runtime.drawn_data import DrawnData
from engine.runtime.theory_lines import theory_lines
from engine.spec.check import check
from engine.spec.experiment import Experiment
from engine.training.descent import Undrawn, kept_records
from engine.training.recorder import Block
from engine.training.training_run import Recording, Unstarted

MOST = 1 << 12
"""Largest number of records that a learner adds in one round of the main loop.

If a record takes many updates, this number limits the updates in a round.
"""

GROWTH = 8
"""Largest factor between the numbers of records of consecutive rounds."""


class Pacing:
    """Chooses how many records (evaluation points) every learner adds in the next round of a run.

    The number is adapted to the speed of the run, so that a round takes about `seconds`.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._records = 1
        self._queried: float | None = None

    def records(self) -> int:
        """Return the number of records that each learner may add in the next round.

        Call this method before every round: the time between two calls counts as the time of a round.
        """
        now = time.perf_counter()
        if self._queried is not None:
            share = self._seconds / max(now - self._queried, 1e-9)
            self._records = min(MOST, max(1, int(self._records * min(share, GROWTH))))
        self._queried = now
        return self._records

    def rest(self) -> None:
        """Do not count the time until the next call of `records`, because the run pauses."""
        self._queried = None


COMPARED_BY = AverageLoss().name
"""Measure by which the rates of a learner are compared."""

SMALL = 64 << 20
"""A run that needs at most this many bytes uses one thread: its tensors are small, so threads mostly wait.

Measured with two threads in place of one: optimizers-judged 8.1 instead of 3.2 s, unconstrained-features 8.3
instead of 3.0 s; no preset up to this size was faster.
"""

WAITING = 4 << 20
"""Maximum bytes of weights per curve that are buffered before they are written to the trace."""


BEYOND = 64
"""Largest number of records that a learner computes after the record at which its curve ends early.

If a record takes many updates, this number limits the updates.
"""


@dataclass(frozen=True)
class Loaded:
    """Event: the trace of the run, which contains its results, exists. It grows during the run.

    The data and initial weights of a learner are drawn later, before its first round.
    """

    trace: Trace


@dataclass(frozen=True)
class Diverged:
    """Event: replicas of a learner ended early, because they diverged or lost accuracy.

    A replica diverges if its loss is not finite, or is far above the first loss. The event is sent when the
    first replica ends early, and again when the last replica ends early. After the last replica, the learner
    has ended.
    """

    learner: str
    x: float
    replicas: int = 1
    """Number of replicas that have diverged so far."""

    total: int = 1
    """Number of replicas."""

    fate: str = "diverged"
    """Verb that says what happened to these replicas."""


@dataclass(frozen=True)
class Finished:
    """Event: every learner has ended."""

    trace: Trace


@dataclass(frozen=True)
class NotKept:
    """Event: curves could not be stored for later runs, for the reason `why`. The run continues.

    The event is sent at most once in a run.
    """

    why: str


Event: TypeAlias = Loaded | Diverged | NotKept | Finished


class Keeper(Protocol):
    """Interface of objects that return curves of earlier runs and store new curves, such as `RunWriter`."""

    def restore(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> bool:
        """Fill the empty `curves` of a learner with those of earlier runs.

        Return whether earlier runs have these curves.
        """

    def begun(self, trace: Trace) -> None:
        """Store the start of a trace (the results of a run), whose curves have no records yet."""

    def grow(self, trace: Trace) -> None:
        """Store the records that the curves of a trace have gained since the last call."""

    def keep(self, planned: LearnerPlan, curves: Sequence[Curve], is_side_run: bool = False) -> str | None:
        """Store the finished curves of a learner. If this fails, return the reason, else None."""


Gate: TypeAlias = Callable[[], int]
"""Function called before every round, which returns the number of records that each learner may add; 0 stops
the run."""


def run(
    experiment: Experiment,
    gate: Gate = lambda: MOST,
    notify: Callable[[Event], None] = lambda event: None,
    writer: Keeper | None = None,
    turn: float = math.inf,
    data: DrawnData | None = None,
    is_spread: bool = False,
) -> Trace:
    """Run all learners of an experiment side by side, a few records (evaluation points) at a time.

    Learners that are ahead wait for the others. A learner may need several rounds for one evaluation point.
    It then finishes this point before the next learner continues, so that the first results appear early.
    The division into rounds does not change the curves, not even in the last bit.

    Args:
        gate: returns the number of evaluation points of the next round.
        notify: receives events.
        writer: provides curves of earlier runs, and keeps the curves of learners that end.
        turn: seconds after which a learner pauses, even in the middle of an evaluation point. The run can
            then be paused or stopped.
        data: source of data; runs with equal data share the data.
        is_spread: whether other processes have computed the curves that `writer` provides.

    Raises: BadInput for an experiment that cannot be run here, before anything large is allocated. BadInput
        also if memory runs out; the trace of `Loaded` then has the curves so far. Stopped if the run was
        stopped while data were drawn.
    """
    check(experiment)
    plan = plan_run(experiment)
    small = needed_bytes(plan) <= SMALL
    limit, scattered = _records_per_round(plan), scatters(plan)
    trace: Trace | None = None
    with _torch_without_gradients(1 if small else None) if plan.needs_torch else nullcontext():
        try:
            trace, started = prepare(plan, writer, data, is_spread)
            if writer is not None:
                writer.begun(trace)
            notify(Loaded(trace))
            active = [learner_run for learner_run in started if not learner_run.ended]
            amid: LearnerRun | None = None
            while active and (records := gate()):
                for learner_run in _slowest_runs(active) if amid is None else [amid]:
                    if scattered:
                        memory_estimate.give_back()
                    length = learner_run.length
                    for event in learner_run.advance(min(records, limit), turn):
                        notify(event)
                    if writer is not None:
                        writer.grow(trace)
                    if learner_run.length == length and not learner_run.ended:
                        amid = amid or learner_run
                    elif learner_run is amid:
                        amid = None
                    if learner_run.ended:
                        learner_run.settle()
                        if writer is not None and (why := learner_run.keep(writer)):
                            notify(NotKept(why))
                        active.remove(learner_run)
        except Stopped:
            if trace is None:
                raise
        except (MemoryError, RuntimeError) as error:
            if not memory_estimate.ran_out(error):
                raise
            reached = -1 if trace is None else trace.frontier
            when = (
                "before the first evaluation point"
                if trace is None or reached < 0
                else f"after {trace.at(reached)}"
            )
            fault = f"{devices.resolve(experiment.run.device)} ran out of memory {when}"
            raise BadInput(
                "run.device", f"{fault}; take fewer replicas, fewer rates or a smaller d"
            ) from error
    if not active:
        notify(Finished(trace))
    return trace


@contextmanager
def _torch_without_gradients(threads: int | None) -> Iterator[None]:
    with torch.no_grad(), devices.threads(threads):
        yield


@dataclass(frozen=True)
class LearnerRun:
    """Training run of a learner, with one curve for each rate that it tries.

    `training_run` is None if the curves come from an earlier run. If only the best of several rates is shown,
    the trace has the curve `shown`, a copy of the curve with the best rate.
    """

    training_run: Recording | None
    curves: list[Curve]
    shown: Curve | None
    plan: LearnerPlan
    starts: dict[int, Floats] = field(default_factory=dict)
    """Loss of every replica at the first record [R], by the index of the curve."""

    early_ends: list[EarlyEnd] = field(default_factory=list)
    """For each curve, the tracker that decides whether it ends early; empty if no curve can end early."""

    is_side_run: bool = False
    """Whether only theory lines use this training run. It then sends no events."""

    @property
    def length(self) -> int:
        """Number of records so far. Curves that ended early have fewer records."""
        return max(curve.length for curve in self.curves)

    @property
    def ended(self) -> bool:
        return all(curve.ended for curve in self.curves)

    def advance(self, records: int, seconds: float = math.inf) -> list[Diverged]:
        """Compute up to `records` records of all curves; stop earlier after `seconds` seconds.

        Return an event for each curve whose first replica or last replica diverged in this call.
        """
        assert self.training_run is not None, "what was kept has ended"
        block = self.training_run.advance(records, seconds)
        events: list[Diverged] = []
        # A long record takes several rounds, and most of these rounds complete no record.
        if not len(block.loss):
            return events
        for variant, curve in enumerate(self.curves):
            if curve.ended:
                continue
            before = curve.diverged
            start = self.starts.setdefault(variant, block.loss[0, :, variant].copy())
            early_end = self.early_ends[variant] if self.early_ends else None
            _append_block(curve, block, variant, start, early_end)
            last = curve.diverged == curve.replicas
            curve.ended = last or curve.complete
            if curve.diverged > before and (before == 0 or last):
                x = float((np.nanmax if last else np.nanmin)(curve.divergences))
                events.append(Diverged(curve.name, x, curve.diverged, curve.replicas, curve.fate))
        return [] if self.is_side_run else events

    def keep(self, writer: Keeper) -> str | None:
        return writer.keep(self.plan, self.curves, self.is_side_run)

    @property
    def in_trace(self) -> list[Curve]:
        return [self.shown] if self.shown else self.curves

    def settle(self) -> None:
        settle(self.curves, self.shown, COMPARED_BY)


def prepare(
    plan: RunPlan,
    writer: Keeper | None = None,
    source: DrawnData | None = None,
    is_spread: bool = False,
) -> tuple[Trace, list[LearnerRun]]:
    """Return the trace, with its theory lines, and the training runs of all learners, not yet started."""
    source, experiment = source or DrawnData(), plan.experiment
    device = devices.resolve(experiment.run.device) if plan.needs_torch else "cpu"
    need = needed_bytes(plan) if is_spread else _needed_bytes(plan, device, source)
    as_matrix = takes_matrix(plan.learners)
    # Data are drawn at first use: a run whose backends and theory lines need no tensors draws none.
    data = cache(partial(source.of, experiment, device, as_matrix))
    examples = partial(source.examples, experiment, as_matrix)

    def labels() -> Rows:
        return examples().labels

    cost = experiment.loss.of_targets(_count_of_targets(experiment))
    clocks = experiment.protocol.clocks(experiment.n)
    begin = partial(_new_learner_run, cost=cost, streams=experiment.run.random_streams(), writer=writer)
    side_learner_runs = [
        begin(
            side_learner,
            data
            if side_learner.experiment.problem == experiment.problem
            else cache(partial(source.of, side_learner.experiment, device)),
            partial(source.examples, side_learner.experiment),
            is_side_run=True,
        )
        for side_learner in plan.side_learners
    ]
    started = [begin(planned_learner, data, examples) for planned_learner in plan.learners]
    side_curves = {
        of: {name: side_learner_runs[number].curves[0] for name, number in numbers.items()}
        for of, numbers in plan.side_runs.numbers.items()
    }
    trace = Trace(
        [curve for learner_run in started for curve in learner_run.in_trace],
        theory_lines(plan, data, clocks, side_curves, labels=None if plan.needs_torch else labels),
        clocks,
        x_label=CLOCKS[next(iter(clocks))],
        environment={
            **({"parts": outside.origins()} if outside.origins() else {}),
            "version": __version__,
            "torch": _version_of_torch(),
            "device": devices.describe(device),
            "dtype": experiment.dtype,
            "memory": in_words(need),
        },
        compared_by=COMPARED_BY,
        side_curves=[curve for learner_run in side_learner_runs for curve in learner_run.curves],
        examples=_examples_seen(experiment, data)
        if any(picture.points for picture in experiment.pictures)
        else None,
        measures=plan.measures,
    )
    return trace, [*side_learner_runs, *started]


@cache
def _version_of_torch() -> str:
    """Return the installed version of torch. The result is cached, because reading it is slow."""
    return version("torch")


def _new_learner_run(
    planned: LearnerPlan,
    data: Callable[[], Data],
    examples: Callable[[], Examples],
    is_side_run: bool = False,
    *,
    cost: Cost,
    streams: Streams,
    writer: Keeper | None,
) -> LearnerRun:
    """Return the run of a learner, with curves and a training run that has not started yet.

    If an earlier run has these curves, they are filled, and there is no training run.
    """
    curves, shown = _empty_curves(planned)
    training_run = None
    if writer is None or not writer.restore(planned, curves, is_side_run):
        undrawn = Undrawn(planned.learner, len(curves), data, examples, cost, streams, planned.measures)
        compile_meanwhile(planned)
        training_run = Unstarted(partial(_training_run, undrawn, planned, [*curves, *filter(None, [shown])]))
    early_ends = [] if is_side_run else _early_ends(planned.experiment, len(curves))
    learner_run = LearnerRun(
        training_run, curves, shown, planned, early_ends=early_ends, is_side_run=is_side_run
    )
    if learner_run.ended:
        learner_run.settle()
    return learner_run


def _training_run(undrawn: Undrawn, planned: LearnerPlan, curves: Sequence[Curve]) -> Recording:
    """Return a training run. It changes to the learner's faster backend when that backend is compiled."""
    begun = planned.backend.begin(undrawn, planned.experiment)
    if planned.faster is None:
        return begun
    faster, code = planned.faster

    def take_over() -> Recording:
        for curve in curves:
            curve.backends.append(faster.name)
        return faster.begin(undrawn, planned.experiment)

    return Handover(begun, lambda: code.is_there, take_over)


def _examples_seen(experiment: Experiment, data: Callable[[], Data]) -> tuple[Floats, Floats]:
    """Return the inputs x and labels of the training examples of the first replica, two arrays.

    All examples of the complete run are included. Instances must have a single entry, which is x.
    """
    n, protocol = experiment.n, experiment.protocol
    k = int(max(protocol.clocks(n)["k"][-1], protocol.extent(n).most_examples))
    seen = protocol.rows_seen(n, k, experiment.run.random_streams())
    rows, labels = data().instances.rows[0, :, 0], data().labels[0]
    return rows.double().cpu().numpy()[seen], labels.double().cpu().numpy()[seen]


def _count_of_targets(experiment: Experiment) -> int:
    return int(experiment.m)


def _needed_bytes(plan: RunPlan, device: str, source: DrawnData) -> int:
    """Return how many bytes of memory a run needs.

    If the run does not fit into free memory, data that `source` stores for later runs are released. Raises:
    BadInput if the run does not fit even then.
    """
    try:
        return memory_estimate.check(plan, device)
    except BadInput:
        if not source.give_back():
            raise
    return memory_estimate.check(plan, device)


def _empty_curves(planned: LearnerPlan) -> tuple[list[Curve], Curve | None]:
    """Return an empty curve for each learning rate, and the curve that the trace shows instead, or None.

    Only a learner that is tuned to its best rate has such a curve, which becomes a copy of the best curve.
    """
    new_curve = partial(
        Curve,
        capacity=planned.records,
        replicas=planned.experiment.run.replicas,
        verdict=planned.verdict,
        learner=planned.learner.name,
        backend=planned.backend.name,
        indices={
            measure.name: {
                index.name: index.values
                for index in measure.index(planned.learner, planned.experiment.problem)
            }
            for measure in planned.measures
            if not measure.is_number
        },
    )
    rates = zip(planned.curve_names, planned.rates, strict=True)
    curves = [
        new_curve(curve_name, rate=None if len(planned.rates) == 1 else rate) for curve_name, rate in rates
    ]
    if not planned.learner.is_tuned:
        return curves, None
    shown = new_curve(planned.learner.name)
    shown.oracle_tuned = True
    return curves, shown


def _early_ends(experiment: Experiment, curves: int) -> list[EarlyEnd]:
    until = experiment.protocol.schedule().ends_early
    return [] if until is None else [EarlyEnd(until, experiment.run.replicas) for _ in range(curves)]


def _slowest_runs(learner_runs: list[LearnerRun]) -> list[LearnerRun]:
    fewest = min(learner_run.length for learner_run in learner_runs)
    return [learner_run for learner_run in learner_runs if learner_run.length == fewest]


def _records_per_round(plan: RunPlan) -> int:
    """Return how many records a learner may add per round. Rounds are short, to buffer few weights.

    The rounds of a run that may end early are short, too, because records after its end are lost.
    """
    size, d = plan.vector_bytes, plan.learners[0].sizes.d
    stored = kept_records(plan.learners[0].records, d, size // d)
    limit = stored.stride * max(1, WAITING // size)
    return limit if plan.experiment.protocol.schedule().ends_early is None else min(limit, BEYOND)


def _append_block(
    curve: Curve, block: Block, variant: int, start: Floats, early_end: EarlyEnd | None
) -> None:
    """Append a block of records to the curve number `variant`. A replica has NaN after it diverges.

    Args:
        start: losses [R] of the R replicas at the first record.
        early_end: object that decides whether the curve ends early; None if it cannot end early.
    """
    clocks, measures = block.of_variant(variant)
    sound = _sound_records(curve, measures["loss"], start)
    # Before `append`: a published record cannot be withdrawn, and readers may have seen it.
    if early_end is not None:
        length = early_end.length(clocks, measures, sound)
        sound = np.minimum(sound, length)
        clocks = {clock: times[:length] for clock, times in clocks.items()}
        measures = {measure: values[:length] for measure, values in measures.items()}
    records, first_sound = int(sound.max()), int(sound[0])
    x = next(iter(clocks.values()))
    for replica in np.flatnonzero((sound < len(x)) & np.isnan(curve.divergences)):
        curve.divergences[replica] = x[sound[replica]]
        if block.inaccurate is not None:
            curve.inaccurate[replica] = block.inaccurate[sound[replica], replica]
    if (sound < records).any():
        after = np.arange(len(x))[:, None] >= sound
        measures = {measure: np.where(after, np.nan, values) for measure, values in measures.items()}
    curve.append(
        {clock: times[:records] for clock, times in clocks.items()},
        {measure: values[:records] for measure, values in measures.items()},
        {record: vectors[variant] for record, vectors in block.weights.items() if record < first_sound},
        {
            name: {
                record: _without_diverged(values[:, variant], sound > record)
                for record, values in by_record.items()
            }
            for name, by_record in block.arrays.items()
        },
    )
    if early_end is not None and early_end.reached:
        curve.complete_early()


def _without_diverged(values: Floats, sound: NDArray[np.bool_]) -> Floats:
    """Replace the values [R or 1, *index] of diverged replicas by NaN."""
    return np.where(np.expand_dims(sound[: len(values)], tuple(range(1, values.ndim))), values, np.nan)


def _sound_records(curve: Curve, loss: Floats, start: Floats) -> NDArray[np.intp]:
    """Return for each of R replicas how many of S records it has before it diverges, [R].

    `loss` are the losses [S, R] at these records, and `start` the losses [R] at the first record of the run.
    """
    bad = ~(np.isfinite(loss) & (loss <= divergence_limit(start))) | ~np.isnan(curve.divergences)
    return np.where(bad.any(0), bad.argmax(0), len(loss))


def run_json(words: str) -> None:
    """Run an experiment given as JSON."""
    run(msgspec.json.decode(words, type=Experiment))


if __name__ == "__main__":
    run_json(sys.argv[1])
