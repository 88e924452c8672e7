"""How results become views: what a picture wants of them goes through its steps, curve by curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core.expressions import names_in
from engine.core.parts import BadInput
from engine.pictures import reductions
from engine.pictures.picture import RATE, Contour, Picture
from engine.pictures.view import (
    ROUNDING,
    Apart,
    ContourView,
    CurveView,
    HeatView,
    LineView,
    View,
    summaries_agree,
)
from engine.protocols import CLOCKS
from engine.results.results import Results
from engine.results.samples import Samples, of_curve, of_line
from engine.results.steps import AtPoint, Steps
from engine.results.trace import Curve, TheoryLine, Trace
from engine.spec.marks import marks_of
from engine.spec.points import Plan, Point

Floats = NDArray[np.float64]

NOTHING = np.empty(0)

Key = tuple[str, Apart]
LineKey = tuple[str, str, Apart]
"""The kind of a line, the curve whose own it is if it is not the same for all, and which values of axes."""

Lines = dict[LineKey, list[tuple[Point, Samples, TheoryLine]]]


class Stretch(NamedTuple):
    """What a curve of a picture has of one point."""

    number: int
    point: Point
    trace: Trace
    curve: Curve
    samples: Samples


Curves = dict[Key, list[Stretch]]


class Gathered(NamedTuple):
    """What there is of a picture."""

    curves: Curves
    lines: Lines
    absent: dict[str, str]
    numbers: dict[Key, int]
    """The number of every curve that there may be, those without records among them."""

    to_come: dict[Key, CurveView]
    """Curves along records that have none yet."""

    divisor: Lines
    """The line of the theory that the picture is relative to, be it drawn or not; empty if it is to none."""

    def divisor_of(self, picture: Picture, key: Key) -> list[tuple[Point, Samples]]:
        """What a curve or line of a picture is divided by: the curve of a learner, or a line of the theory.

        It is at the same values of the axes that tell curves apart; empty where there is nothing of it.
        """
        (name, apart), to = key, str(picture.relative)
        if (to, apart) in self.curves:
            return [(one.point, one.samples) for one in self.curves[to, apart]]
        own = self.divisor.get((to, name, apart)) or self.divisor.get((to, "", apart), [])
        return [(point, samples) for point, samples, _ in own]


def view(picture: Picture, results: Results) -> View:
    """A picture of results, as far as these have come.

    Raises: BadInput for a picture that these results do not have.
    """
    plan = results.plan
    logarithmic = _is_logarithmic(picture.x, plan)
    steps = Steps(picture, plan.axes)
    gathered = _gathered(picture, results, steps)
    found = View(
        picture=picture,
        x_label=CLOCKS.get(picture.x, picture.x),
        y_label=_label(picture, results),
        x_log=logarithmic if picture.x_log is None else picture.x_log,
        y_log=bool(picture.y_log),
        rounding=ROUNDING[plan.experiment.dtype],
        rows_log=picture.y is not None and _is_logarithmic(picture.y, plan),
        clock=plan.experiment.protocol.clock,
        as_measured=not steps.change_values,
        marks=marks_of(plan, picture),
        absent=gathered.absent,
        places_of=lambda found: _places(found, results, steps),
        x_of=lambda number, clock: _x_of(results, steps, number, clock),
        y_of=lambda number: None if picture.y is None else steps.height(plan.points[number]),
    )
    if picture.y is not None:
        found.heats.extend(
            _heat(results, steps, learner, taken) for (learner, _), taken in gathered.curves.items()
        )
        return found
    for key, number in gathered.numbers.items():
        if key in gathered.to_come:
            found.curves.append(gathered.to_come[key])
        elif key in gathered.curves and key[0] != picture.relative:
            reduction = _Reduction(picture, results, steps, gathered, key)
            found.curves.append(reduction.view(number))
    for (kind, curve, apart), taken in gathered.lines.items():
        x, values = steps.curve([(point, samples) for point, samples, _ in taken])
        y = values[0] if len(values) == 1 else reductions.summary(picture.summary, values)
        of_some = None
        if len(values) > 1 and picture.relative is None:
            of_some = partial(_of_some, picture.summary, values)
        if picture.relative is not None:
            y = _divided(x, y, _Replicas(steps, gathered.divisor_of(picture, (curve, apart))))
        applies = dict.fromkeys(name for _, _, line in taken for name in line.applies_to)
        found.lines.append(
            LineView(
                name=plan.name(f"{kind} of {curve}" if curve else kind, picture, apart),
                kind=kind,
                apart=apart,
                direction=taken[0][2].direction,
                formula=taken[0][2].formula,
                group=taken[0][2].group,
                in_expectation=taken[0][2].in_expectation,
                summary=taken[0][2].summary,
                curve=curve,
                applies_to=(curve,) if curve else tuple(applies),
                x=x,
                y=y,
                grows=taken[0][2].along_runs is not None,
                of_some=of_some,
            )
        )
    return found


def _of_some(how: str, values: Floats, replicas: Sequence[int]) -> Floats:
    """The summary of some of the replicas, of values [R, N]."""
    return reductions.summary(how, values[list(replicas)])


class _Replicas:
    """A curve or line, to be summarised over all of its replicas or some, again and again for an error."""

    def __init__(self, steps: Steps, taken: list[tuple[Point, Samples]]) -> None:
        self._steps, self.taken = steps, taken

    @cached_property
    def whole(self) -> tuple[Floats, Floats]:
        """x [N] and the values [R, N] of all replicas."""
        return self._steps.curve(self.taken)

    def summary(self, replicas: Sequence[int] | None) -> tuple[Floats, Floats]:
        """x and y of all replicas or of some; where there is one only, it is the same for all."""
        reading, how = self._steps.picture.reading, self._steps.picture.summary
        if replicas is not None and reading is not None and reading.of == "mean":
            x, values = self._steps.curve([(point, samples.of(replicas)) for point, samples in self.taken])
        else:  # all steps take every replica by itself
            x, values = self.whole
            if replicas is not None and len(values) > 1:
                values = values[[one for one in replicas if one < len(values)]]
        return x, reductions.summary(how, values)


def _divided(x: Floats, y: Floats, divisor: _Replicas, replicas: Sequence[int] | None = None) -> Floats:
    """A curve or line over what a picture is relative to; NaN where there is nothing of that."""
    if not divisor.taken:
        return np.full_like(y, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        divided: Floats = y / np.interp(x, *divisor.summary(replicas))
        return divided


def _places(found: View, results: Results, steps: Steps) -> Floats:
    """Where something is or is to be: at the records of the run that goes furthest, or at the points."""
    points = [point for point in results.plan.points if point.is_in(found.picture)]
    if found.along_records:
        runs = [(results.plan.points[number], trace) for number, trace in results.traces.items()]
        runs = [run for run in runs if run[0].is_in(found.picture)]
        if not all(steps.clocks <= trace.planned.keys() for _, trace in runs):
            return found.known_places
        far = max(runs, key=lambda run: steps.place(run[0], run[1].clocks_at(run[1].last)))
        return steps.places(far[0], far[1].planned)
    made_of_axes = [steps.place(point, {}) for point in points] if steps.x_of_axes else []
    return np.union1d(found.known_places, made_of_axes)


def _x_of(results: Results, steps: Steps, number: int, clock: float) -> float | None:
    """On clocks that were measured it is where the learner is that has come furthest on them by then."""
    if number not in results.traces:
        return None
    point, trace = results.plan.points[number], results.traces[number]
    if steps.clocks <= trace.planned.keys():
        clocks = [trace.clocks_at(clock)]
    else:
        there = [curve for curve in trace.curves if curve.length and steps.clocks <= curve.clocks.keys()]
        clocks = [trace.clocks_at(min(clock, float(curve.x[-1])), curve) for curve in there]
    try:
        return max((steps.place(point, one) for one in clocks), default=None)
    except BadInput:  # x is an index of the measure
        return None


def _is_logarithmic(text: str, plan: Plan) -> bool:
    named, protocol = names_in(text), plan.experiment.protocol
    by_clock = protocol.logarithmic and protocol.clock in named
    if RATE in named and not any(RATE in (axis.name, *axis.bound(axis.grid[0])) for axis in plan.axes):
        return True
    return by_clock or any(axis.log for axis in plan.axes if axis.name in named)


def _heat(results: Results, steps: Steps, learner: str, taken: list[Stretch]) -> HeatView:
    """A learner over x and y: every point of the axes is a row of the map, or a cell of it."""
    parts = steps.parts([(one.point, one.samples) for one in taken])
    x = np.unique(np.concatenate([part.x for part in parts]))
    y = np.unique([steps.height(part.point) for part in parts])
    summary = steps.picture.summary
    z = _over(x, y, steps, parts, lambda values: reductions.summary(summary, values))
    stderr = None
    if all(reductions.has_error(summary, len(part.values)) for part in parts):
        stderr = _over(x, y, steps, parts, partial(_error, summary))
    drawn = (_contour(each, x, y, results, steps.picture, taken) for each in steps.picture.contours)
    return HeatView(learner, x, y, z, stderr, tuple(one for one in drawn if one is not None))


def _over(
    x: Floats, y: Floats, steps: Steps, parts: list[AtPoint], one: Callable[[Floats], Floats]
) -> Floats:
    """One number [M, N] for every place of a map that the parts [R, …] are at, NaN elsewhere."""
    found = np.full((len(y), len(x)), np.nan)
    for part in parts:
        row = int(np.searchsorted(y, steps.height(part.point)))
        found[row, np.searchsorted(x, part.x)] = one(part.values)
    return found


def _contour(
    contour: Contour, x: Floats, y: Floats, results: Results, picture: Picture, taken: list[Stretch]
) -> ContourView | None:
    """A line of the theory over the map of a learner; None where it has no values there."""
    plain = msgspec.structs.replace(picture, running=None, times=None, read=None, relative=None)
    steps = Steps(plain, results.plan.axes)
    found: list[tuple[Point, Samples]] = []
    direction = ""
    for one in taken:
        for line in (line for line in one.trace.lines if line.kind == contour.line):
            whole = of_line(line, one.trace, clocks=steps.clocks)
            if (samples := whole.get(one.curve.name, whole.get(""))) is not None:
                found.append((one.point, samples))
                direction = line.direction
    if not found:
        return None
    values = _over(x, y, steps, steps.parts(found), lambda each: reductions.summary(picture.summary, each))
    return ContourView(contour.title, contour.line, direction, contour.level, values)


def _error(how: str, values: Floats) -> Floats:
    """The standard error [N] of a summary of values [R, N] that has one."""
    found = reductions.standard_error(how, len(values), lambda some: reductions.summary(how, values[some]))
    assert found is not None, "has_error says so"
    return found


class _Reduction:
    """One curve on its way into a view, of all replicas or of some."""

    def __init__(
        self, picture: Picture, results: Results, steps: Steps, gathered: Gathered, key: Key
    ) -> None:
        self._picture, self._results, self._steps = picture, results, steps
        self._key, self._taken = key, gathered.curves[key]
        self._samples = _Replicas(steps, [(one.point, one.samples) for one in self._taken])
        self._divisor = _Replicas(steps, gathered.divisor_of(picture, key))
        self._replicas = min(
            one.curve.replicas if picture.measure.is_number else len(one.samples.values)
            for one in self._taken
        )

    def view(self, number: int) -> CurveView:
        """The curve with its errors, and how much of it there is; it is the one with this number."""
        (name, apart), first = self._key, self._taken[0]
        if (measured := self._as_measured()) is not None:
            x, y, stderr = measured
        else:
            self._check_kept()
            x, y = self._estimate(None)
            y = np.where(np.isinf(y) & np.isin(x, self._incomplete), np.nan, y)
            stderr = reductions.standard_error(
                self._picture.summary, self._replicas, lambda some: self._estimate(some)[1]
            )
        along, curve = self._along_records, first.curve
        missing = None if along else self._missing()
        if missing is None:
            diverged, diverged_at = len(self._divergences), self._diverged_at(first)
        else:
            diverged = int(missing.min(initial=self._replicas))
            diverged_at = next(iter(x[missing > 0].tolist()), None)
        return CurveView(
            name=self._results.plan.name(name, self._picture, apart),
            number=number,
            learner=curve.learner,
            apart=apart,
            is_best=lambda: first.trace.curve(curve.learner) is curve,
            verdict=curve.verdict,
            backend=curve.backend if len({one.curve.backend for one in self._taken}) == 1 else None,
            bound_class=first.trace.bound_class(curve),
            rate=curve.rate if len(self._taken) == 1 else None,
            grid=curve.grid if len(self._taken) == 1 else {},
            oracle_tuned=curve.oracle_tuned,
            x=x,
            y=y,
            clock=next(iter(first.samples.clocks.values())) if along else None,
            point=first.number if len(self._taken) == 1 else None,
            is_ordered=along and self._picture.x in first.samples.clocks and not self._steps.measured,
            is_passed=along and bool(self._steps.measured),
            planned=curve.capacity if along else len(self._wanted),
            stderr=stderr,
            replicas=self._replicas,
            summary=self._picture.summary,
            over=self._over,
            divergences=self._divergences if along else NOTHING,
            missing=missing,
            is_reference=_is_reference(curve, first.point),
            diverged=diverged,
            diverged_at=diverged_at,
            ended=all(one.curve.ended for one in self._taken),
            complete=self._complete(along),
        )

    @property
    def _along_records(self) -> bool:
        """Whether it is drawn along how far a single run has come."""
        return len(self._taken) == 1 and self._steps.along_records(self._taken[0].samples.clocks)

    def _as_measured(self) -> tuple[Floats, Floats, Floats | None] | None:
        """x, the mean over replicas and its error as they were recorded; None where more is to be done."""
        picture, (first, *others) = self._picture, self._taken
        if others or self._steps.change_values or picture.summary != "mean":
            return None
        if not picture.measure.is_number or not self._along_records:
            return None
        mean = first.curve.mean(picture.measure.name)
        assert mean is not None, "there are samples of it"
        x, values = self._steps.curve([(first.point, first.samples._replace(values=mean[None]))])
        return x, values[0], first.curve.stderr_of(picture.measure.name)

    def _over(self, replicas: Sequence[int]) -> Floats:
        """The curve of some of the replicas."""
        self._check_kept()
        return self._estimate(replicas)[1]

    @property
    def _divergences(self) -> Floats:
        """Where replicas have diverged in the only run, in order."""
        found = self._taken[0].curve.divergences[: self._replicas]
        return np.sort(found[~np.isnan(found)])

    def _check_kept(self) -> None:
        """See that a long series has all replicas and not the first only. Raises: BadInput."""
        kept = min(len(one.samples.values) for one in self._taken)
        if self._picture.measure.is_number and kept < self._replicas:
            what = f"{self._picture.measure.name} was kept of the first of {self._replicas} replicas only"
            raise BadInput("pictures", f"{what}: the run has too many evaluation points for more; take fewer")

    def _estimate(self, replicas: Sequence[int] | None) -> tuple[Floats, Floats]:
        """x and y of the curve, of all replicas or of some."""
        x, y = self._samples.summary(replicas)
        if self._picture.relative is None:
            return x, y
        return x, _divided(x, y, self._divisor, replicas)

    def _missing(self) -> NDArray[np.int64]:
        """Of how many replicas nothing is known at every place."""
        _, values = self._samples.whole
        return np.asarray(np.isnan(values).sum(0), np.int64)

    def _diverged_at(self, only: Stretch) -> float | None:
        """Where on x the first replica diverged."""
        if not len(self._divergences):
            return None
        at = float(self._divergences[0])
        first, *_ = only.trace.planned
        if self._picture.x == first:
            return at
        if self._steps.measured:
            return None
        place = self._steps.place(only.point, only.trace.clocks_at(at, only.curve))
        return None if np.isnan(place) else place

    def _complete(self, along: bool) -> bool:
        if along:
            only = self._taken[0].curve
            return only.sound == only.capacity
        axes = len(self._results.plan.axes)
        there = {one.point.place[:axes] for one in self._taken}
        ended = [one.curve.complete or one.curve.diverged == one.curve.replicas for one in self._taken]
        return all(ended) and there.issuperset(point.place for point in self._wanted)

    @property
    def _incomplete(self) -> list[float]:
        """Where on x points of an axis that is read off are still to come: "never" is not known there."""
        reading = self._picture.reading
        if reading is None or reading.over == "record" or not self._steps.x_of_axes:
            return []
        there = {one.point.place for one in self._taken}
        return [self._steps.place(point, {}) for point in self._wanted if point.place not in there]

    @property
    def _wanted(self) -> list[Point]:
        """The points that it is to go through."""
        _, apart = self._key
        learner = self._taken[0].curve.learner
        return [
            point
            for point in self._results.plan.points
            if point.is_in(self._picture)
            and self._results.plan.apart(self._picture, point) == apart
            and any(one.name == learner for one in point.experiment.learners)
        ]


def _is_reference(curve: Curve, point: Point) -> bool:
    """Whether its learner is one that others are compared with."""
    return any(one.name == curve.learner and one.role == "reference" for one in point.experiment.learners)


def _to_come(
    name: str, number: int, apart: Apart, at: tuple[int, Point], curve: Curve, trace: Trace
) -> CurveView:
    """A curve along the records of a run of which there are none yet."""
    return CurveView(
        name=name,
        number=number,
        learner=curve.learner,
        apart=apart,
        is_best=lambda: curve.best,
        verdict=curve.verdict,
        bound_class=trace.bound_class(curve),
        rate=curve.rate,
        oracle_tuned=curve.oracle_tuned,
        x=NOTHING,
        y=NOTHING,
        clock=NOTHING,
        point=at[0],
        is_ordered=True,
        planned=curve.capacity,
        stderr=None if curve.replicas == 1 else NOTHING,
        replicas=curve.replicas,
        over=lambda replicas: NOTHING,
        divergences=NOTHING,
        is_reference=_is_reference(curve, at[1]),
        diverged=0,
        diverged_at=None,
        complete=False,
    )


def _label(picture: Picture, results: Results) -> str:
    """What the y-axis says."""
    how, label = picture.reading, picture.measure.label_with(results.plan.experiment.protocol.loss)
    if how is not None and how.is_place:
        sign, threshold = ("<", how.first_below) if how.first_above is None else (">", how.first_above)
        clock = next((trace.x_label for trace in results.traces.values()), how.over)
        label = f"{clock if how.over == 'record' else how.over} until {label} {sign} {threshold:g}"
    if picture.times is not None:
        label = f"{label} × {picture.times}"
    return label if picture.relative is None else f"{label}, relative to {picture.relative}"


def _gathered(picture: Picture, results: Results, steps: Steps) -> Gathered:
    """What there is of every curve and of every line of a picture, and why other lines are not there.

    Along axes a run that goes on has no number yet: its last record so far is not that of the whole run.
    """
    found = Gathered(defaultdict(list), defaultdict(list), {}, {}, {}, defaultdict(list))
    for number, trace in sorted(results.traces.items()):
        point = results.plan.points[number]
        if not point.is_in(picture):
            continue
        apart = results.plan.apart(picture, point)
        for curve in trace.curves:
            here, name = point, curve.name
            if steps.along_rates:
                if (rate := _rate_of(curve, point)) is None:
                    continue
                here, name = point.at_rate(rate), curve.learner
            key = name, apart
            order = found.numbers.setdefault(key, len(found.numbers))
            if not steps.clocks - steps.measured <= _clocks_of(curve, trace, point):
                continue
            samples = of_curve(curve, picture.measure, trace, steps.measured)
            if samples is None and not curve.length and steps.along_records(_clocks_of(curve, trace, point)):
                name = results.plan.name(name, picture, apart)
                found.to_come[key] = _to_come(name, order, apart, (number, point), curve, trace)
            if samples is None or not steps.measured <= samples.clocks.keys():
                continue
            if curve.ended or not steps.along_axes or steps.along_records(samples.clocks):
                found.curves[key].append(Stretch(number, here, trace, curve, samples))
        _gather_lines(found, picture, steps, (point, trace), apart)
    return found


def _gather_lines(
    found: Gathered, picture: Picture, steps: Steps, at: tuple[Point, Trace], apart: Apart
) -> None:
    """Add the lines of the theory that a run has for a picture, and say why others are not in it."""
    point, trace = at
    for line in trace.lines:
        into = [found.divisor] if line.kind == picture.relative and line.on_problem.holds else []
        if why := _absence(line, picture):
            found.absent[line.kind] = why
        else:
            into.append(found.lines)
        if not into:
            continue
        own = of_line(line, trace, picture.reads_places, steps.clocks)
        for name, samples in own.items():
            for here, whose in _places_of_line(name, point, trace, steps):
                for lines in into:
                    lines[line.kind, whose, apart].append((here, samples, line))
        if not own and len(line.values) and not line.applies_to:
            found.absent[line.kind] = "it binds none of the learners that have the clock of this picture"


def _places_of_line(name: str, point: Point, trace: Trace, steps: Steps) -> list[tuple[Point, str]]:
    """Where a line is, the own of the curve of this name or of all alike, and whose it is: at every rate."""
    if not steps.along_rates:
        return [(point, name)]
    curves = [curve for curve in trace.curves if name in (curve.name, "")]
    rates = {_rate_of(curve, point): curve.learner if name else "" for curve in curves}
    return [(point.at_rate(rate), whose) for rate, whose in rates.items() if rate is not None]


def _rate_of(curve: Curve, point: Point) -> float | None:
    """The rate of a curve, one of several or the only one; None for learners without."""
    (learner,) = (one for one in point.experiment.learners if one.name == curve.learner)
    only = getattr(learner.update, "lr", None)
    return only if curve.rate is None and isinstance(only, float) else curve.rate


def _absence(line: TheoryLine, picture: Picture) -> str:
    """Why a line is not in a picture; nothing for one that is."""
    if picture.lines is not None and line.kind not in picture.lines:
        return "the picture does not name it among its lines"
    if not line.on_problem.holds:
        return line.on_problem.reason
    if line.measure != picture.measure.name:
        return f"it is about the {line.measure}, and this is the {picture.measure.name}"
    if line.running not in (None, picture.running):
        return (
            f"it is about the {line.running} of all evaluation points so far: take running = {line.running}"
        )
    if picture.lines is None and not summaries_agree(line.summary, picture.summary):
        return f"it is about the {line.summary} of many replicas, and this is the {picture.summary}"
    return ""


def _clocks_of(curve: Curve, trace: Trace, point: Point) -> set[str]:
    """The names of the clocks that a curve has, or is going to have."""
    protocol, learners = point.experiment.protocol, point.experiment.learners
    measured = [protocol.measured_clocks(one) for one in learners if one.name == curve.learner]
    return set(trace.planned).union(curve.clocks, *measured)
