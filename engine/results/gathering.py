"""Collects the values of every curve and theory line of a picture from all sweep points."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import structs
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.core.parts import LearnerKind
from engine.pictures import reductions
from engine.pictures.picture import Picture
from engine.pictures.summaries import summaries_agree
from engine.pictures.view import (
    Apart,
    CurveView,
    Ends,
    KindPlace,
    Places,
    Training,
    kind_places,
)
from engine.results.picture_steps import PictureSteps, Samples, of_curve, of_line
from engine.results.results import Results
from engine.results.trace import Curve, TheoryLine, Trace
from engine.spec.experiment import missing
from engine.spec.sweep import Point, Sweep

CurveKey = tuple[str, Apart, int]
"""Name of the curve's learner, index of its value on each axis that separates curves, number of its rate."""


def kinds_in(picture: Picture, sweep: Sweep) -> dict[CurveKey, KindPlace]:
    """Return the kind of each curve's learner, such as "exact", and the curve's number within this kind.

    Curves without values are included. Curves of reference learners are left out, because they are
    drawn like theory lines. The reference curve of a picture with `relative` is left out, because it is not
    drawn.
    """
    steps = PictureSteps(picture, sweep.axes)
    one_curve = steps.along_rates or steps.over_rates  # if True, all rates of a learner form one curve
    ranks = {learner_name: rank for rank, learner_name in enumerate(sweep.learners)}
    value_ranks: dict[Apart, int] = {}
    kinds: dict[CurveKey, LearnerKind] = {}
    for point in sweep.points:
        if not point.is_in(picture):
            continue
        apart = sweep.apart(picture, point)
        value_ranks.setdefault(apart, len(value_ranks))
        for learner in point.experiment.learners:
            if learner.role == "reference" or learner.name == picture.relative:
                continue
            rates = None if one_curve else learner.rate_choice
            for number in range(len(rates) if isinstance(rates, tuple) else 1):
                if (key := (learner.name, apart, number)) not in kinds:
                    kinds[key] = learner.learner_kind
    keys = sorted(kinds, key=lambda key: (value_ranks[key[1]], ranks[key[0]], key[2]))
    return dict(zip(keys, kind_places([kinds[key] for key in keys]), strict=True))


Floats = NDArray[np.float64]

NOTHING = np.empty(0)

NO_RATE = float("nan")
"""Rate of learners without a rate.

All of them must use this NaN object, because two different NaN objects are unequal as dictionary keys.
"""

Key = tuple[str, Apart]
"""Name of a curve, and index of its value on each sweep axis that separates curves."""

LineKey = tuple[str, str, Apart]
"""Name of a theory line, name of its curve ("" if all curves share the line), and indices as in Key."""

Lines = dict[LineKey, list[tuple[Point, Samples, TheoryLine]]]


class Stretch(NamedTuple):
    """The part of a curve that one sweep point contributes."""

    number: int
    """Index of the sweep point."""

    point: Point
    trace: Trace
    curve: Curve
    samples: Samples


Curves = dict[Key, list[Stretch]]


class Gathered(NamedTuple):
    """Samples (measured values) of a picture's curves and theory lines, and why theory lines are missing."""

    curves: Curves
    lines: Lines
    absent: dict[str, str]
    """Reason why each absent theory line is not shown, by kind of line."""

    numbers: dict[Key, int]
    """Index of every curve, including curves that have no values yet.

    Curves are sorted by the values of the sweep axes that distinguish curves, then in the order of the
    learners. So the index does not depend on the order in which runs start.
    """

    kinds: dict[CurveKey, KindPlace]
    """For each curve, the kind of its learner, and its index among the curves of this kind."""

    to_come: dict[Key, CurveView]
    """Empty views of curves that have no values yet. Only pictures that follow the training have them."""

    divisor: Lines
    """Samples of the theory line by which the picture divides its values.

    They are present even if the line itself is not drawn, and empty if no theory line divides the values.
    """

    unmeasured: dict[str, str]
    """For each learner that the picture's measure cannot measure, the unmet condition, by learner name."""

    def kind_place(self, curve: Curve, point: Point, apart: Apart) -> KindPlace | None:
        keys = (curve.learner, apart, _rate_with_position(curve, point).number), (curve.learner, apart, 0)
        return next((self.kinds[key] for key in keys if key in self.kinds), None)

    def divisor_of(self, picture: Picture, key: Key) -> list[tuple[Point, Samples]]:
        """Return the values by which a picture divides the curve `key`; empty if it divides by nothing.

        A theory line that belongs to a curve is divided by the same values as the curve.
        """
        (curve_name, apart), to = key, str(picture.relative)
        if (to, apart) in self.curves:
            return [(stretch.point, stretch.samples) for stretch in self.curves[to, apart]]
        lines = self.divisor.get((to, curve_name, apart)) or self.divisor.get((to, "", apart), [])
        return [(point, samples) for point, samples, _ in lines]


class Replicas:
    """Values of a curve or theory line in each replica, with summaries over all replicas or a subset.

    The jackknife computes standard errors from summaries over subsets.
    """

    def __init__(self, steps: PictureSteps, sampled: list[tuple[Point, Samples]]) -> None:
        self._steps, self.samples = steps, sampled

    @property
    def summary_name(self) -> str:
        return self._steps.picture.summary

    @cached_property
    def of_all(self) -> tuple[Floats, Floats]:
        """The N x positions, and the values [R, N] of all R replicas at these positions."""
        return self._steps.curve(self.samples)

    def values(self, replicas: Sequence[int] | None) -> tuple[Floats, Floats]:
        """Return the N x positions, and the values [R, N] of `replicas` (None for all).

        The shape of the values is [1, N] if all replicas share them.
        """
        reading = self._steps.picture.reading
        if replicas is not None and reading is not None and reading.of == "mean":
            return self._steps.curve([(point, samples.subset(replicas)) for point, samples in self.samples])
        x, y = self.of_all  # steps treat replicas separately: no need to repeat them
        if replicas is not None and len(y) > 1:
            subset = np.asarray(replicas, np.intp)
            y = y[subset[subset < len(y)]]
        return x, y

    def summary(self, replicas: Sequence[int] | None) -> tuple[Floats, Floats]:
        """Return the N x positions, and the summary [N] of the values of `replicas` (None for all)."""
        x, y = self.values(replicas)
        return x, reductions.summary(self.summary_name, y)

    @property
    def differ(self) -> bool:
        _, y = self.of_all
        return not np.array_equal(y, np.broadcast_to(y[:1], y.shape), equal_nan=True)


def gathered(picture: Picture, results: Results, steps: PictureSteps) -> Gathered:
    """Return the values of a picture's curves and theory lines, and why other theory lines are missing.

    If the picture's x is a sweep axis, an unfinished run contributes nothing, because its final value is
    unknown.
    """
    collected = Gathered(
        defaultdict(list),
        defaultdict(list),
        {},
        {},
        kinds_in(picture, results.sweep),
        {},
        defaultdict(list),
        {},
    )
    collected.numbers.update(_numbers_of_curves(picture, results, steps))
    for number, trace in sorted(results.traces.items()):
        point = results.sweep.points[number]
        if not point.is_in(picture):
            continue
        apart = results.sweep.apart(picture, point)
        for curve in trace.curves:
            if (curve_name := _drawn_name(curve, point, steps)) is None:
                continue
            placed = (
                point.at_rate(*_rate_with_position(curve, point))
                if steps.along_rates or steps.over_rates
                else point
            )
            key = curve_name, apart
            if not steps.clocks - steps.measured <= _clocks_of_curve(curve, trace, point):
                continue
            samples = of_curve(curve, picture.measure, trace, steps.measured, steps.until)
            if (
                samples is None
                and not curve.length
                and steps.along_records(_clocks_of_curve(curve, trace, point))
            ):
                curve_name = results.sweep.name(curve_name, picture, apart)
                place = collected.kind_place(curve, point, apart)
                curve_to_come = _view_without_points(
                    curve_name, collected.numbers[key], apart, (number, point), curve, trace
                )
                collected.to_come[key] = replace(curve_to_come, kind_place=place)
            if samples is None and curve.length and not is_reference(curve, point):
                collected.unmeasured.update(_conditions_unmet(curve, picture, point))
            if samples is None or not steps.measured <= samples.clocks.keys():
                continue
            if _has_ended(curve, trace, steps) or steps.along_records(samples.clocks):
                collected.curves[key].append(Stretch(number, placed, trace, curve, samples))
        _gather_lines(collected, picture, steps, (point, trace), apart)
    for curve_name in {
        stretch.curve.learner for stretches in collected.curves.values() for stretch in stretches
    }:
        collected.unmeasured.pop(curve_name, None)
    return collected


def _drawn_name(curve: Curve, point: Point, steps: PictureSteps) -> str | None:
    if steps.along_rates and np.isnan(_rate_with_position(curve, point).rate):
        return None
    return curve.learner if steps.along_rates or steps.over_rates else curve.name


def _numbers_of_curves(picture: Picture, results: Results, steps: PictureSteps) -> dict[Key, int]:
    places = {learner_name: place for place, learner_name in enumerate(results.sweep.learners)}
    split: dict[Apart, int] = {}
    ranks: dict[Key, tuple[int, int]] = {}
    for number, trace in sorted(results.traces.items()):
        point = results.sweep.points[number]
        if not point.is_in(picture):
            continue
        apart = results.sweep.apart(picture, point)
        rank = split.setdefault(apart, len(split))
        for curve in trace.curves:
            if (curve_name := _drawn_name(curve, point, steps)) is not None:
                ranks[curve_name, apart] = rank, places[curve.learner]
    return {key: number for number, key in enumerate(sorted(ranks, key=ranks.__getitem__))}


def _gather_lines(
    collected: Gathered, picture: Picture, steps: PictureSteps, at: tuple[Point, Trace], apart: Apart
) -> None:
    point, trace = at
    for line in trace.lines:
        into = [collected.divisor] if line.kind == picture.relative and line.on_problem.holds else []
        if why := _reason_for_absence(line, picture):
            collected.absent[line.kind] = why
        else:
            into.append(collected.lines)
        if not into:
            continue
        by_curve = of_line(line, trace, picture.reads_places, steps.clocks)
        for curve_name, samples in by_curve.items():
            for place, owner in _places_of_line(curve_name, point, trace, steps):
                for lines in into:
                    lines[line.statement.name or line.kind, owner, apart].append((place, samples, line))
        if not by_curve and len(line.values) and not line.applies_to:
            collected.absent[line.kind] = (
                "x is measured during each learner's training, but this line applies to no learner in the run"
            )


def _conditions_unmet(curve: Curve, picture: Picture, point: Point) -> dict[str, str]:
    learners = (learner for learner in point.experiment.learners if learner.name == curve.learner)
    conditions = {learner.name: missing(picture.measure, point.experiment, learner) for learner in learners}
    return {
        learner_name: condition for learner_name, condition in conditions.items() if condition is not None
    }


def _has_ended(curve: Curve, trace: Trace, steps: PictureSteps) -> bool:
    """Return whether a curve has ended, as far as this matters for a picture.

    It only matters for a picture along a sweep axis or along rates. If the picture chooses among the rates of
    a learner, the curves of all rates must have ended.
    """
    if not steps.along_axes:
        return True
    beside = (
        [trace_curve for trace_curve in trace.curves if trace_curve.learner == curve.learner]
        if steps.over_rates
        else [curve]
    )
    return all(other.ended for other in beside)


def _places_of_line(
    curve_name: str, point: Point, trace: Trace, steps: PictureSteps
) -> list[tuple[Point, str]]:
    if not (steps.along_rates or steps.over_rates):
        return [(point, curve_name)]
    curves = [curve for curve in trace.curves if curve_name in (curve.name, "")]
    rates = {_rate_with_position(curve, point): curve.learner if curve_name else "" for curve in curves}
    return [
        (point.at_rate(*rate), owner)
        for rate, owner in rates.items()
        if steps.over_rates or not np.isnan(rate.rate)
    ]


class Rate(NamedTuple):
    """One of the learning rates that a learner tries."""

    number: int
    """Index of the rate among the learner's rates."""

    rate: float
    """NaN for learners without rates."""


def _rate_with_position(curve: Curve, point: Point) -> Rate:
    (learner,) = (candidate for candidate in point.experiment.learners if candidate.name == curve.learner)
    rates = learner.rate_choice
    if curve.rate is None:
        alone = rates[0] if isinstance(rates, tuple) else rates
        return Rate(0, alone if isinstance(alone, float) else NO_RATE)
    return Rate(rates.index(curve.rate) if isinstance(rates, tuple) else 0, curve.rate)


def _reason_for_absence(line: TheoryLine, picture: Picture) -> str:
    statement = line.statement
    if picture.lines is not None and statement.kind not in picture.lines:
        return "the picture's list of theory lines does not contain this line"
    if not line.on_problem.holds:
        return line.on_problem.reason
    if picture.reading is not None and picture.reading.until is not None:
        return "the picture reads until a learner meets `until`, and a theory line cannot meet this condition"
    if picture.share is not None:
        return "this line is about values, but the picture shows the share of replicas that meet a condition"
    if picture.reading is not None and picture.reading.place_of is not None:
        return "this line bounds the value of the curve, but the picture shows where a value is reached"
    if statement.measure != picture.measure.name:
        return f"this line is about the {statement.measure}, but the picture shows the {picture.measure.name}"
    if statement.running not in (None, picture.running):
        running = statement.running
        return f"this line is about the {running} over all evaluation points so far; set running = {running}"
    if (
        picture.lines is None
        and statement.direction == "asymptotic"
        and not (statement.group or line.applies_to)
    ):
        return "this line is the limit of a learner that is not in the run"
    if picture.lines is None and not summaries_agree(statement.summary, picture.summary):
        about = f"this line is about the {statement.summary} over replicas"
        return f"{about}, but the picture shows the {picture.summary}"
    return ""


def _clocks_of_curve(curve: Curve, trace: Trace, point: Point) -> set[str]:
    protocol, learners = point.experiment.protocol, point.experiment.learners
    measured = [protocol.measured_clocks(learner) for learner in learners if learner.name == curve.learner]
    return set(trace.planned).union(curve.clocks, *measured)


def is_reference(curve: Curve, point: Point) -> bool:
    """Return whether a curve belongs to a reference learner, which is drawn like a theory line."""
    return any(
        learner.name == curve.learner and learner.role == "reference" for learner in point.experiment.learners
    )


def _view_without_points(
    curve_name: str, number: int, apart: Apart, at: tuple[int, Point], curve: Curve, trace: Trace
) -> CurveView:
    return CurveView(
        name=curve_name,
        number=number,
        learner=curve.learner,
        apart=apart,
        chosen=curve.best,
        x=NOTHING,
        y=NOTHING,
        stderr=None if curve.replicas == 1 else NOTHING,
        replicas=curve.replicas,
        over=lambda replicas: NOTHING,
        places=Places(curve.capacity, NOTHING, is_ordered=True),
        training=Training(
            curve.verdict,
            trace.is_bound(curve),
            rate=curve.rate,
            oracle_tuned=curve.oracle_tuned,
            point=at[0],
            is_reference=is_reference(curve, at[1]),
        ),
        ends=Ends(np.zeros(0, np.int64)),
    )


WHY = "these runs would change no picture"
"""Reason, for messages, why learners are skipped at a sweep point."""


def known_at(results: Results, number: int) -> frozenset[str]:
    """Return the learners whose runs at sweep point `number` would change no picture.

    Learners stop early only along a sweep axis with the field `until`, and only if a picture has a `read`
    over this axis. Every such picture must show the first value of the axis at which a measure passes a
    threshold. A learner stops when these first values and their standard errors are known.
    """
    sweep = results.sweep
    point = sweep.points[number]
    reading = [
        (picture, number_of_axis)
        for number_of_axis, axis in enumerate(sweep.axes)
        if axis.until is not None
        for picture in sweep.experiment.pictures
        if picture.reading is not None and picture.reading.over == axis.name and point.is_in(picture)
    ]
    names = frozenset(learner.name for learner in point.experiment.learners)
    for picture, number_of_axis in reading:
        names &= _finally_known_learners(picture, _results_along(results, point, number_of_axis))
    return names if reading else frozenset()


def _results_along(results: Results, point: Point, axis: int) -> Results:
    sweep = results.sweep

    def elsewhere(point: Point) -> tuple[int, ...]:
        return point.place[:axis] + point.place[axis + 1 :]

    runs = [
        (sweep.points[number], trace)
        for number, trace in sorted(results.traces.items())
        if elsewhere(sweep.points[number]) == elsewhere(point)
    ]
    if not runs:
        return Results(sweep)
    points, traces = zip(*runs, strict=True)
    return Results(dataclasses.replace(sweep, points=points), dict(enumerate(traces)))


def _finally_known_learners(picture: Picture, results: Results) -> frozenset[str]:
    """Return the learners whose values in a picture, and their standard errors, are finite and final.

    Readings such as `first_below`, the place where a measure first passes a threshold, can be final before
    the sweep ends. All other readings, such as a minimum, need all sweep points.
    """
    if picture.reading is None or not picture.reading.is_threshold:
        return frozenset()
    plain = structs.replace(picture, y=None, lines=(), marks=(), contours=(), relative=None)
    steps = PictureSteps(plain, results.sweep.axes)
    is_known: dict[str, bool] = {}
    for stretches in gathered(plain, results, steps).curves.values():
        replicas = Replicas(steps, [(stretch.point, stretch.samples) for stretch in stretches])
        learner_name, count = stretches[0].curve.learner, len(stretches[0].samples.values)
        is_known[learner_name] = is_known.get(learner_name, True) and _has_finite_errors(replicas, count)
    return frozenset(learner_name for learner_name, has_all in is_known.items() if has_all)


def _has_finite_errors(replicas: Replicas, count: int) -> bool:
    if not np.isfinite(replicas.of_all[1]).all():
        return False
    error = reductions.standard_error(
        replicas.summary_name, count, lambda subset: replicas.summary(subset)[1]
    )
    return error is None or bool(np.isfinite(error).all())
