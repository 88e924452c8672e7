"""Compare an experiment with the theory lines, the verdicts and the backends.

A statistical violation is reported only if 1000 fresh replicas confirm it beyond 5 standard errors. All else
is compared up to rounding, for as long as float32 follows float64: until then steps do not magnify rounding.
"""

from __future__ import annotations

import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.backends import backends, why_not
from engine.core.groups import TRIVIAL, UNCHANGED
from engine.core.parts import BadInput
from engine.core.stopping import Stopped
from engine.measures import named
from engine.pictures.bounds import UNLIKELY, allowed_errors, unseen
from engine.pictures.summaries import SPREADS
from engine.pictures.view import ROUNDING
from engine.planning.run_plan import plan_run
from engine.results.outcomes import judge
from engine.results.picture_steps import Samples, of_curve, of_line
from engine.results.report import encode
from engine.results.results import of_one
from engine.results.trace import Curve, TheoryLine, Trace
from engine.runtime.run import run
from engine.spec import reading
from engine.spec.experiment import Experiment
from engine.symmetry.certificate import MAGNIFIED, certificate, change_by_rounding, is_unstable
from engine.symmetry.verdict import verdict
from tests.fuzz.presets import SIDES, Raw

Floats = NDArray[np.float64]

LARGE = 128
"""Rows, features or records beyond which an experiment is not run."""

FIRST, FEW = 32, 2
"""Replicas of an experiment where a line is about their mean, and elsewhere."""

FRESH, FIRST_FRESH = 1000, 1 << 20
"""Replicas that confirm a candidate, and the first of their seeds."""

CONFIRMED = 5.0
"""Standard errors beyond which a candidate must lie in the fresh replicas."""

SAME_GAP = 1000.0
"""Largest ratio of the gaps of one violation in both dtypes. Gaps that are rounding differ by 2²⁹ or more."""

TWINS = 1e-9
"""Largest difference of two backends in float64, relative to the largest value so far."""

FOLLOWS = 1e-4
"""Largest difference of float32 from float64, relative to the largest value so far, where rounding is not
magnified: that of float64 is 2⁻²⁹ times as large, less than ROUNDING and TWINS."""

UNIT = 2.0**-52
"""Rounding of numbers of size 1 in float64."""

TINY = 1e-300
"""Smaller than any size that is compared: it only prevents division by 0."""

SECONDS, FRESH_SECONDS = 5.0, 30.0
"""Seconds of processor time after which an experiment is stopped, and one with fresh replicas.

A stopped experiment gives no finding."""


class Finding(NamedTuple):
    """An error that an experiment shows."""

    what: str
    """line, verdict, backend or crash."""

    name: str
    """The line and its side, the rule, the backend, or where it crashed: findings of one name are alike."""

    detail: str
    replicas: int = 1
    """Replicas that show it."""

    seed: int = 0
    """Seed of the first of them."""

    @property
    def key(self) -> tuple[str, str]:
        return self.what, self.name

    @property
    def run(self) -> Raw:
        """The settings of a run that shows it."""
        return {"replicas": self.replicas, "seed": self.seed}


@dataclass
class Tally:
    """Counts of the experiments and of the lines that were tried."""

    counts: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    """Learners that each line binds in the experiments that were run."""

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.tried.update(other.tried)


class Violation(NamedTuple):
    """The place at which a curve lies farthest beyond a line."""

    line: TheoryLine
    side: str
    mean: float
    expected: float
    errors: float
    """Standard errors beyond the line; infinite for a line that is about every run."""

    at: str

    @property
    def gap(self) -> float:
        """Distance of the mean from the line; positive."""
        return abs(self.mean - self.expected)


def check(raw: Raw, subject: str | None = None) -> tuple[list[Finding], Tally]:
    """Read and run an experiment, and compare it with all statements about it, or with `subject` alone."""
    tally = Tally(Counter(drawn=1))
    try:
        experiment = reading.parse(raw)
        n, d = experiment.problem.matrix.shape()
        if max(n, d, experiment.protocol.extent(n).records) > LARGE:
            tally.counts["too large"] += 1
            return [], tally
        tally.counts["accepted"] += 1
        with _stopped_after(SECONDS):
            return [*_findings(experiment, subject, tally)], tally
    except BadInput:
        tally.counts["refused"] += 1
    except Stopped:
        tally.counts["stopped"] += 1
    except Exception as error:
        return [_crash(error)], tally
    return [], tally


def _findings(experiment: Experiment, subject: str | None, tally: Tally) -> Iterator[Finding]:
    (learner,) = experiment.learners
    binding = [
        planned.line
        for planned in plan_run(experiment).lines
        if planned.line.structure().direction in SIDES and planned.binds(learner)
    ]
    tally.tried.update(line.kind for line in binding)
    replicas = FIRST if any(line.structure().in_expectation for line in binding) else FEW
    experiment = _with(experiment, replicas=replicas)
    trace = _run(experiment)
    tally.counts["run"] += 1
    if subject in (None, "crash"):
        results = of_one(experiment, trace)
        encode(msgspec.to_builtins(experiment), results, judge(results))
    if subject in (None, "line"):
        yield from _of_lines(experiment, trace)
    if subject in (None, "verdict", "crash"):
        yield from _of_verdicts(experiment, trace, tally)
    if subject in (None, "backend", "crash"):
        yield from _of_backends(experiment, tally)


def _run(experiment: Experiment) -> Trace:
    with np.errstate(all="ignore"):
        trace = run(experiment)
    if not trace.ended:  # it was stopped
        raise Stopped
    return trace


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raise Stopped inside the block after `seconds` of processor time."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _with(experiment: Experiment, **settings: object) -> Experiment:
    """Copy of the experiment with changed run settings."""
    return msgspec.structs.replace(experiment, run=msgspec.structs.replace(experiment.run, **settings))


def _of_lines(experiment: Experiment, trace: Trace) -> Iterator[Finding]:
    """Findings about lines that a learner violates."""
    violations = [*_violations(trace, experiment.dtype)]
    if not violations:
        return
    if any(violation.line.statement.in_expectation for violation in violations):
        signal.setitimer(signal.ITIMER_PROF, FRESH_SECONDS)
        confirmed = _confirmed(experiment)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    for violation in violations:
        replicas = experiment.run.replicas
        if violation.line.statement.in_expectation:
            if (again := confirmed.get((violation.line.kind, violation.side))) is None:
                continue
            violation, replicas = again, FRESH
        elif not any(
            violation.line.kind == steady.line.kind
            for steady in _violations(trace, experiment.dtype, _steady(experiment))
        ):
            continue
        statement = violation.line.statement
        errors = (
            f", {violation.errors:.1f} standard errors of {replicas} replicas"
            if statement.in_expectation
            else ""
        )
        side = {"lower": "below", "upper": "above"}[violation.side]
        gap = f"{violation.mean:.6g} is {side} {violation.expected:.6g}"
        detail = f"{statement.measure} {gap} at {violation.at}{errors}"
        seed = FIRST_FRESH if replicas == FRESH else experiment.run.seed
        yield Finding("line", f"{violation.line.kind} ({statement.direction})", detail, replicas, seed)


def _confirmed(experiment: Experiment) -> dict[tuple[str, str], Violation]:
    """Violations in the mean of fresh replicas, by line and side, whose gap does not scale with rounding."""
    fresh = _with(experiment, replicas=FRESH, seed=FIRST_FRESH)
    confirmed = _beyond_chance(fresh)
    if not confirmed:
        return {}
    other = _beyond_chance(_with(fresh, dtype="float32" if experiment.dtype == "float64" else "float64"))
    return {
        key: violation
        for key, violation in confirmed.items()
        if key in other and 1 / SAME_GAP < violation.gap / other[key].gap < SAME_GAP
    }


def _beyond_chance(experiment: Experiment) -> dict[tuple[str, str], Violation]:
    """Violations in the mean of the replicas of an experiment, by line and side."""
    return {
        (violation.line.kind, violation.side): violation
        for violation in _violations(_run(experiment), experiment.dtype)
        if violation.line.statement.in_expectation and violation.errors > CONFIRMED
    }


def _violations(
    trace: Trace, dtype: str, records: Callable[[Curve], int] | None = None
) -> Iterator[Violation]:
    """Violations of lines by curves that they bind, larger than chance and rounding."""
    for line in trace.lines:
        if line.statement.direction not in SIDES or not line.applies_to:
            continue
        lines_by_curve = of_line(line, trace)
        for curve in trace.curves:
            along = lines_by_curve.get(curve.name, lines_by_curve.get(""))
            samples = of_curve(curve, named()[line.statement.measure], trace)
            if curve.learner not in line.applies_to or along is None or samples is None:
                continue
            length = curve.sound if records is None else min(curve.sound, records(curve))
            for side in SIDES[line.statement.direction]:
                violation = _beyond(line, side, samples, along, curve, length, ROUNDING[dtype])
                if violation is not None:
                    yield violation


def _beyond(
    line: TheoryLine, side: str, samples: Samples, along: Samples, curve: Curve, length: int, rounding: float
) -> Violation | None:
    """Largest violation of a line in the first `length` records of a curve, or None."""
    clock, planned = (next(iter(samples_of_side.clocks.values())) for samples_of_side in (samples, along))
    in_range = clock <= (curve.x[length - 1] if length else -np.inf)
    places = np.searchsorted(planned, clock[in_range])
    inside = places < len(planned)
    values = _in_mean(line.statement.summary, samples.values[:, in_range][:, inside])
    expected = np.broadcast_to(
        along.values[:, places[inside]],
        np.broadcast_shapes(values.shape, along.values[:, places[inside]].shape),
    )
    if not values.size:
        return None
    sign = 1.0 if side == "lower" else -1.0
    gaps = sign * (values - expected)
    count = len(gaps)
    mean = gaps.mean(0)
    size = np.fmax(np.abs(values), np.abs(expected)).max(0)
    size = np.maximum.accumulate(np.where(np.isfinite(size), size, 0.0), axis=0) * rounding
    if not line.statement.in_expectation:
        gaps_per_bound = (
            gaps if len(along.values) > 1 else gaps.mean(0, keepdims=True)
        )  # a line of all is of their mean
        beyond = np.where(gaps_per_bound < -size, -gaps_per_bound / np.maximum(size, TINY), 0.0)
        at = np.unravel_index(beyond.argmax(), beyond.shape)
        if not beyond[at]:
            return None
        shown = (
            part if len(along.values) > 1 else part.mean(0, keepdims=True) for part in (values, expected)
        )
        numbers = (float(part[at]) for part in shown)
        return Violation(line, side, *numbers, np.inf, _place(samples, in_range, inside, at[1:]))
    if count < 2 or len(values) < 2:
        return None
    error = np.fmax(gaps.std(0, ddof=1) / np.sqrt(count), size)
    beyond = np.where((mean < -size) & (error > 0), -mean / np.where(error > 0, error, 1.0), 0.0)
    place = np.unravel_index(beyond.argmax(), beyond.shape)
    largest = float(np.nanmax(gaps - mean, initial=0.0))
    if beyond[place] <= allowed_errors(count) or unseen(-mean[place], largest, count) > UNLIKELY:
        return None
    means = (float(part.mean(0)[place]) for part in (values, expected))
    return Violation(line, side, *means, float(beyond[place]), _place(samples, in_range, inside, place))


def _in_mean(summary: str | None, samples: Floats) -> Floats:
    """Numbers of replicas [R, …] whose mean is the summary and whose spread is its standard error."""
    if summary not in ("geometric", *SPREADS) or len(samples) < 2:
        return samples
    with np.errstate(all="ignore"):
        if summary != "relative-variance":
            samples = np.log(samples)
        mean, bias = samples.mean(0), len(samples) / (len(samples) - 1)
        if summary == "geometric":
            return np.exp(mean) * (1 + samples - mean)
        squares = bias * np.square(samples - mean)
        if summary == "log-variance":
            return squares
        relative = squares / np.square(mean)
        return relative - 2 * relative.mean(0) * (samples / mean - 1)


def _place(
    samples: Samples, in_range: NDArray[np.bool_], inside: NDArray[np.bool_], place: tuple[np.intp, ...]
) -> str:
    """Clock and indices of a place in samples, as text."""
    name, clock = next(iter(samples.clocks.items()))
    words = [f"{name} = {clock[in_range][inside][place[0]]:g}"]
    indices = zip(samples.indices.items(), place[1:], strict=True)
    return ", ".join([*words, *(f"{index} = {points[at]:g}" for (index, points), at in indices)])


def _steady(experiment: Experiment) -> Callable[[Curve], int]:
    """Function that counts the first records of a curve in which float32 follows float64.

    In these records the steps of the learner do not magnify rounding.
    """
    settings = {"path": "dense", "replicas": FEW}
    double, single = (_run(_with(experiment, dtype=dtype, **settings)) for dtype in ("float64", "float32"))

    def records(curve: Curve) -> int:
        return _agree(double.curve(curve.name), single.curve(curve.name), "loss", FOLLOWS)

    return records


def _agree(curve: Curve, twin: Curve, measure: str, tolerance: float) -> int:
    """Number of first records in which two curves agree, relative to the largest value so far.

    Labels and instances have size 1. So a prediction whose terms cancel is off by UNIT, even if it is 0.
    """
    values, twin_values = curve.values(measure), twin.values(measure)
    if values is None or twin_values is None:
        return 0 if (values is None) != (twin_values is None) else curve.length
    records = min(curve.sound, twin.sound)
    values, twin_values = values[:records], twin_values[:records]
    size = np.maximum.accumulate(np.fmax(np.abs(values), np.abs(twin_values)).max(1), axis=0)
    allowed = np.maximum(tolerance * size, UNIT)
    with np.errstate(invalid="ignore"):
        apart = np.nanmax(np.abs(values - twin_values), axis=1, initial=0.0) > allowed
    return int(apart.argmax()) if apart.any() else max(curve.length, twin.length)


def _of_verdicts(experiment: Experiment, trace: Trace, tally: Tally) -> Iterator[Finding]:
    """Findings about learners whose predictions change under the group that their verdict names."""
    for learner in experiment.learners:
        promised, curve = verdict(learner, experiment), trace.curve(learner.name)
        if promised.group == TRIVIAL or curve.diverged:
            continue
        with np.errstate(all="ignore"):
            change = certificate(experiment, learner, group=promised.group)
        tally.counts["verdicts"] += 1
        if change is None or change < UNCHANGED:
            continue
        by_rounding = change_by_rounding(experiment, learner, to_explain=change)
        if promised.undecided or by_rounding is None or is_unstable(change, by_rounding):
            tally.counts["verdicts that rounding decides"] += 1
            continue
        parts = (learner.solver, learner.update, learner.architecture)
        name = " ".join(part.kind for part in parts if part is not None)
        detail = f"{promised.sentence}; under {promised.group.words} predictions change by {change:.2g}"
        yield Finding("verdict", name, detail)


def _of_backends(experiment: Experiment, tally: Tally) -> Iterator[Finding]:
    """Findings about backends whose curves differ from those of `dense`."""
    few = _with(experiment, replicas=FEW)
    (learner,) = experiment.learners
    measures = plan_run(few).learners[0].measures
    serving = [
        backend_name
        for backend_name, backend in backends().items()
        if backend_name not in ("dense", "compiled") and why_not(backend, learner, few, measures) is None
    ]
    if not serving:
        return
    dense = _run(_with(few, path="dense"))
    steady = None
    for name in serving:
        fast = _run(_with(few, path=name))
        tally.counts["backends"] += 1
        for curve in fast.curves:
            twin = dense.curve(curve.name)
            for measure in twin.measures:
                if curve.rate != twin.rate or (agree := _agree(curve, twin, measure, TWINS)) >= twin.length:
                    continue
                first, second = (side.values(measure) for side in (curve, twin))
                assert first is not None, "it is measured by both"
                assert second is not None, "it is measured by both"
                steady = steady or _steady(experiment)
                if agree >= steady(twin) or _by_rounding(few, first[: agree + 1], second[: agree + 1]):
                    tally.counts["backends that rounding decides"] += 1
                    continue
                record = f"{next(iter(twin.clocks))} = {twin.x[agree]:g}"
                detail = f"{measure} {first[agree, 0]:.9g} is {second[agree, 0]:.9g} on dense, at {record}"
                yield Finding("backend", name, detail, FEW)
                return


def _by_rounding(experiment: Experiment, predictions: Floats, other_predictions: Floats) -> bool:
    """Whether rounding of the instances changes predictions about as much as two backends differ.

    Rules that hold their matrices in float64 magnify rounding, whatever the dtype of the run.
    """
    (learner,) = experiment.learners
    change = float(
        np.nanmax(np.abs(predictions - other_predictions)) / max(np.nanmax(np.abs(other_predictions)), TINY)
    )
    with np.errstate(all="ignore"):
        by_rounding = change_by_rounding(experiment, learner, to_explain=change)
    return by_rounding is None or change <= MAGNIFIED * by_rounding


def _crash(error: Exception) -> Finding:
    """Finding of a crash, named after the exception and the innermost call of the engine."""
    calls = traceback.extract_tb(error.__traceback__)
    ours = [call for call in calls if "/engine/" in call.filename and "/tests/" not in call.filename]
    call = (ours or calls)[-1]
    where = f"{Path(call.filename).parent.name}/{Path(call.filename).name}:{call.name}"
    return Finding("crash", f"{type(error).__name__} in {where}", str(error).split("\n", 1)[0][:200], FIRST)
