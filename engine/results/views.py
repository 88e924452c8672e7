"""Computes the view of a picture from the results of a sweep: curves, theory lines and heat maps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core import catalogue
from engine.core.expressions import names_in, symbol, written
from engine.core.parts import BadInput
from engine.measures import measures_in
from engine.pictures import reductions
from engine.pictures.picture import RATE, Contour, Picture
from engine.pictures.summaries import SPREADS
from engine.pictures.view import (
    ROUNDING,
    Absences,
    Apart,
    ContourView,
    CurveView,
    Ends,
    HeatView,
    LineView,
    Places,
    Quantity,
    Training,
    View,
    ViewAxes,
    along_records,
    fate,
    known_places,
)
from engine.protocols import CLOCKS
from engine.results.gathering import NOTHING, Gathered, Key, Replicas, Stretch, gathered, is_reference
from engine.results.picture_steps import AtPoint, PictureSteps, Samples, of_line
from engine.results.results import Results
from engine.results.trace import Curve, TheoryLine
from engine.spec.sweep import Point, Sweep, marks_of

Floats = NDArray[np.float64]

LIMITS = ("asymptotic", "shape", "reference")
"""Values of `direction` for theory lines that do not constrain the mean over finitely many replicas."""


def view(picture: Picture, results: Results) -> View:
    """Return the curves, theory lines and heat maps of a picture, computed from the results so far.

    Raises: BadInput for a picture that these results cannot show.
    """
    sweep = results.sweep
    steps = PictureSteps(picture, sweep.axes)
    collected = gathered(picture, results, steps)
    named_pictures = (
        other_picture for other_picture in sweep.experiment.pictures if other_picture.name is not None
    )
    lower = next(
        (named_picture for named_picture in named_pictures if named_picture.name == picture.beneath), None
    )
    shown = View(
        picture,
        axes=_view_axes(picture, results),
        quantity=Quantity(
            ROUNDING[sweep.experiment.dtype],
            as_measured=not steps.change_values,
            divisor=_divisor_in_words(picture),
        ),
        absences=Absences(collected.absent, collected.unmeasured),
        points=_examples_of_first_run(picture, results),
        places_of=lambda shown: _all_positions(shown, results, steps),
        x_of=lambda number, clock: _x_at_clock(results, steps, number, clock),
        beneath_of=lambda: None if lower is None else view(lower, results),
        y_of=lambda number: steps.height(sweep.points[number]),
    )
    if picture.y is not None:
        shown.heats.extend(
            _heat_view(results, steps, collected, key) for key in collected.numbers if key in collected.curves
        )
        return shown
    best = _best_curves(collected)
    for key, number in collected.numbers.items():
        if key in collected.to_come:
            shown.curves.append(collected.to_come[key])
        elif key in collected.curves and key[0] != picture.relative:
            reduction = _Reduction(picture, results, steps, collected, key)
            shown.curves.append(reduction.view(number, best))
    shown.lines.extend(_line_views(picture, results, steps, collected, shown.absences))
    return shown


def _line_views(
    picture: Picture, results: Results, steps: PictureSteps, collected: Gathered, absences: Absences
) -> Iterator[LineView]:
    """Yield the theory lines of a picture of curves, and record in `absences` why others are not drawn."""
    sweep = results.sweep
    for (named, curve, apart), pieces in collected.lines.items():
        x, by_replica = steps.curve([(point, samples) for point, samples, _ in pieces])
        order = np.argsort(x, kind="stable")  # x decreases during a run if it is a loss
        x, by_replica = x[order], by_replica[:, order]
        if picture.relative is not None:
            divisor = Replicas(steps, collected.divisor_of(picture, (curve, apart)))
            if why := _reason_for_no_meaning(pieces[0][2], divisor):
                absences.lines[pieces[0][2].kind] = why
                continue
            by_replica = _divided_by(x, by_replica, divisor)
        y = _summary_of_line(picture.summary, by_replica)
        points = _sweep_points_of(results, picture, apart)
        without = [point for number, point in points.items() if number not in results.traces]
        y = _nan_until_known(picture, steps, x, y, without)
        of_some = partial(_summary_of_replicas, picture.summary, by_replica) if len(by_replica) > 1 else None
        applies = dict.fromkeys(learner_name for _, _, line in pieces for learner_name in line.applies_to)
        statement = pieces[0][2].statement
        yield LineView(
            name=sweep.name(f"{named} of {curve}" if curve else named, picture, apart),
            values=sweep.name("", picture, apart),
            kind=statement.kind,
            title=statement.title,
            apart=apart,
            direction=statement.direction,
            formula=statement.formula,
            limit=statement.limit,
            group=statement.group,
            in_expectation=statement.in_expectation,
            summary=statement.summary,
            curve=curve,
            applies_to=(curve,) if curve else tuple(applies),
            x=x,
            y=y,
            grows=pieces[0][2].along_runs is not None,
            of_some=of_some,
        )


def _best_curves(collected: Gathered) -> set[Curve]:
    traces = {id(stretches[0].trace): stretches[0].trace for stretches in collected.curves.values()}
    return {
        trace.curve(learner)
        for trace in traces.values()
        for learner in {curve.learner for curve in trace.curves}
    }


def _view_axes(picture: Picture, results: Results) -> ViewAxes:
    sweep, words = results.sweep, _words_for_names(picture, results.sweep)
    return ViewAxes(
        x_label=_x_label(picture, sweep, words),
        y_label=_y_label(picture, results, words),
        x_log=_is_logarithmic(picture.x, sweep) if picture.x_log is None else picture.x_log,
        y_log=bool(picture.y_log),
        rows_log=picture.y is not None and _is_logarithmic(picture.y, sweep),
        words=words,
        names={x: name for axis in sweep.axes for x, name in axis.names_along(picture.x).items()},
        marks=marks_of(sweep, picture),
        clock=sweep.experiment.protocol.clock,
    )


def _examples_of_first_run(picture: Picture, results: Results) -> tuple[Floats, Floats] | None:
    if picture.points is None:
        return None
    runs = sorted(results.traces.items())
    return next((trace.examples for at, trace in runs if results.sweep.points[at].is_in(picture)), None)


def _sweep_points_of(results: Results, picture: Picture, apart: Apart) -> dict[int, Point]:
    sweep = results.sweep
    return {
        number: point
        for number, point in enumerate(sweep.points)
        if point.is_in(picture) and sweep.apart(picture, point) == apart
    }


def _nan_until_known(
    picture: Picture, steps: PictureSteps, x: Floats, y: Floats, without: Sequence[Point]
) -> Floats:
    """Return y, with NaN instead of infinity at each x for which results are still missing.

    Infinity means that a measure never passes a threshold along a sweep axis. As long as some sweep points on
    this axis have not been run, the measure may still pass the threshold at one of them.

    Args:
        without: sweep points that have no results yet.
    """
    reading = picture.reading
    if reading is None or reading.over == "record" or not steps.x_of_axes:
        return y
    places = [steps.place(point, {}) for point in without]
    return np.where(np.isinf(y) & np.isin(x, places), np.nan, y)


def _reason_for_no_meaning(line: TheoryLine, divisor: Replicas) -> str:
    """Return why a theory line has no meaning after division by `divisor`, or "" if it has one.

    A bound on a mean over replicas does not hold if replicas are divided by different numbers.
    """
    promises = line.statement.direction not in LIMITS and line.statement.in_expectation
    if not promises or not divisor.samples or not divisor.differ:
        return ""
    return "this line bounds a mean over replicas, but the picture divides each replica by a different number"


def _summary_of_line(how: str, samples: Floats) -> Floats:
    return samples[0] if len(samples) == 1 else reductions.summary(how, samples)


def _summary_of_replicas(how: str, values: Floats, replicas: Sequence[int]) -> Floats:
    return reductions.summary(how, values[list(replicas)])


def _divided_by(x: Floats, y: Floats, divisor: Replicas, replicas: Sequence[int] | None = None) -> Floats:
    """Divide y [R, N], at x [N], by the values of `divisor` in each replica, interpolated linearly.

    If the divisor has no samples, the result is NaN.
    """
    if not divisor.samples:
        return np.full_like(y, np.nan)
    places, divisors = divisor.values(replicas)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(y / np.stack([np.interp(x, places, row) for row in divisors]))


def _all_positions(shown: View, results: Results, steps: PictureSteps) -> Floats:
    """Return all x positions at which a picture has a value now, or will have one later."""
    points = [point for point in results.sweep.points if point.is_in(shown.picture)]
    if along_records(shown):
        runs = [(results.sweep.points[number], trace) for number, trace in results.traces.items()]
        runs = [run for run in runs if run[0].is_in(shown.picture)]
        if not all(steps.clocks <= trace.planned.keys() for _, trace in runs):
            return known_places(shown)
        far = max(runs, key=lambda run: steps.place(run[0], run[1].clocks_at(run[1].last)))
        return steps.places(far[0], far[1].planned)
    made_of_axes = [steps.place(point, {}) for point in points] if steps.x_of_axes else []
    return np.union1d(known_places(shown), made_of_axes)


def _x_at_clock(results: Results, steps: PictureSteps, number: int, clock: float) -> float | None:
    """Return the picture's x when the clock of the run at sweep point `number` shows `clock`.

    If curves have separate clocks, their x may differ; return the largest. Return None if the sweep point has
    not been run, or if x depends on an index of the measure or on a rate.
    """
    if number not in results.traces:
        return None
    point, trace = results.sweep.points[number], results.traces[number]
    if steps.clocks <= trace.planned.keys():
        clocks = [trace.clocks_at(clock)]
    else:
        curves = [curve for curve in trace.curves if curve.length and steps.clocks <= curve.clocks.keys()]
        clocks = [trace.clocks_at(min(clock, float(curve.x[-1])), curve) for curve in curves]
    try:
        return max((steps.place(point, clock_values) for clock_values in clocks), default=None)
    except BadInput:  # x is an index of the measure
        return None


def _is_logarithmic(text: str, sweep: Sweep) -> bool:
    named, protocol = names_in(text), sweep.experiment.protocol
    by_clock = protocol.schedule().logarithmic and protocol.clock in named
    if RATE in named and not any(RATE in (axis.name, *axis.bound(axis.grid[0])) for axis in sweep.axes):
        return True
    return by_clock or any(axis.log for axis in sweep.axes if axis.name in named)


def _heat_view(results: Results, steps: PictureSteps, collected: Gathered, key: Key) -> HeatView:
    (learner, apart), stretches = key, collected.curves[key]
    drawn = partial(_contour_views, results, steps.picture, stretches)
    place = collected.kind_place(stretches[0].curve, stretches[0].point, apart)
    if (recorded := _recorded_cells(steps, stretches)) is not None:
        x, y, z = recorded
        return HeatView(learner, x, y, z, None, drawn(x, y), place)
    parts = steps.parts([(stretch.point, stretch.samples) for stretch in stretches])
    if (share := steps.picture.share) is not None:
        parts = [part._replace(values=reductions.holds(share, part.values)) for part in parts]
    x = np.unique(np.concatenate([part.x for part in parts]))
    y = np.unique([part.height for part in parts])
    summary = steps.picture.summary
    z = _summarised_cells(x, y, parts, lambda values: reductions.summary(summary, values))
    stderr = None
    if all(reductions.has_error(summary, len(part.values)) for part in parts):
        stderr = _summarised_cells(x, y, parts, partial(_standard_error, summary))
    return HeatView(learner, x, y, z, stderr, drawn(x, y), place)


def _recorded_cells(steps: PictureSteps, stretches: list[Stretch]) -> tuple[Floats, Floats, Floats] | None:
    """Return x, y and z of a heat map as they were recorded, or None if the picture's steps change them.

    This shortcut saves time: an index may have a thousand values, and the app computes a view for every
    frame.
    """
    picture, (first, *rest) = steps.picture, stretches
    samples = first.samples
    if rest or len(samples.values) != 1 or samples.why_first_only:
        return None
    if steps.change_values or picture.at or samples.own_clocks:
        return None
    if picture.summary in ("geometric", *SPREADS):  # change even a single value
        return None
    if picture.x not in samples.clocks or list(samples.indices) != [picture.y]:
        return None
    return samples.clocks[picture.x], samples.indices[str(picture.y)], samples.values[0].T


def _contour_views(
    results: Results, picture: Picture, stretches: list[Stretch], x: Floats, y: Floats
) -> tuple[ContourView, ...]:
    drawn = (_contour_view(contour, x, y, results, picture, stretches) for contour in picture.contours)
    return tuple(contour_view for contour_view in drawn if contour_view is not None)


def _summarised_cells(
    x: Floats, y: Floats, parts: list[AtPoint], summarise: Callable[[Floats], Floats]
) -> Floats:
    """Return the cells [M, N] of a heat map at columns x [N] and rows y [M]; NaN where it has no value."""
    grid = np.full((len(y), len(x)), np.nan)
    for part in parts:
        row = int(np.searchsorted(y, part.height))
        grid[row, np.searchsorted(x, part.x)] = summarise(part.values)
    return grid


def _contour_view(
    contour: Contour, x: Floats, y: Floats, results: Results, picture: Picture, stretches: list[Stretch]
) -> ContourView | None:
    plain = msgspec.structs.replace(picture, running=None, burn_in=None, times=None, read=None, relative=None)
    steps = PictureSteps(plain, results.sweep.axes)
    sampled: list[tuple[Point, Samples]] = []
    direction = title = ""
    for stretch in stretches:
        for line in (line for line in stretch.trace.lines if line.kind == contour.line):
            by_curve = of_line(line, stretch.trace, clocks=steps.clocks)
            if (samples := by_curve.get(stretch.curve.name, by_curve.get(""))) is not None:
                sampled.append((stretch.point, samples))
                direction, title = line.statement.direction, line.statement.called
    if not sampled:
        return None
    level_values = _summarised_cells(x, y, steps.parts(sampled), partial(_summary_of_line, picture.summary))
    name = contour.name or f"{title} = {contour.level:g}"
    return ContourView(name, contour.line, direction, contour.level, level_values)


def _standard_error(how: str, values: Floats) -> Floats:
    error = reductions.standard_error(
        how, len(values), lambda subset: reductions.summary(how, values[subset]), values
    )
    assert error is not None, "has_error says so"
    return error


class _Reduction:
    """Computes the view of one curve: its values over all replicas, and over subsets for standard errors."""

    def __init__(
        self, picture: Picture, results: Results, steps: PictureSteps, collected: Gathered, key: Key
    ) -> None:
        self._picture, self._results, self._steps = picture, results, steps
        self._key, self._stretches = key, collected.curves[key]
        self._samples = Replicas(steps, [(stretch.point, stretch.samples) for stretch in self._stretches])
        self._divisor = Replicas(steps, collected.divisor_of(picture, key))
        self._kind_place = collected.kind_place(self._stretches[0].curve, self._stretches[0].point, key[1])
        self._replicas = min(
            stretch.curve.replicas if picture.measure.is_number else len(stretch.samples.values)
            for stretch in self._stretches
        )

    def view(self, number: int, best: Collection[Curve]) -> CurveView:
        (curve_name, apart), first = self._key, self._stretches[0]
        if (measured := self._recorded_curve()) is not None:
            x, y, stderr = measured
        else:
            x, y = self._estimated_curve(None)
            y = _nan_until_known(self._picture, self._steps, x, y, self._points_to_come)
            stderr = reductions.standard_error(
                self._picture.summary,
                self._replicas,
                lambda subset: self._estimated_curve(subset)[1],
                self._summarised_values(),
            )
        return CurveView(
            name=self._results.sweep.name(curve_name, self._picture, apart),
            number=number,
            learner=first.curve.learner,
            kind_place=self._kind_place,
            apart=apart,
            chosen=any(stretch.curve in best for stretch in self._stretches if stretch.trace is first.trace),
            x=x,
            y=y,
            stderr=stderr,
            replicas=self._replicas,
            summary=self._picture.summary,
            over=self._y_over,
            places=self._places_of_curve(),
            training=self._training_of_curve(),
            ends=self._ends_of_curve(x),
        )

    def _places_of_curve(self) -> Places:
        samples, steps = self._stretches[0].samples, self._steps
        if not self._along_records:
            return Places(planned=len(self._wanted_points))
        return Places(
            self._stretches[0].curve.capacity,
            next(iter(samples.clocks.values())),
            is_ordered=self._picture.x in samples.clocks and not steps.measured,
            is_passed=bool(steps.measured) or self._is_resampled,
        )

    def _training_of_curve(self) -> Training:
        first, is_single = self._stretches[0], len(self._stretches) == 1
        curve = first.curve
        return Training(
            verdict=curve.verdict,
            is_bound=first.trace.is_bound(curve),
            backend=curve.backend
            if len({stretch.curve.backend for stretch in self._stretches}) == 1
            else None,
            rate=curve.rate if is_single else None,
            grid=curve.grid if is_single else {},
            oracle_tuned=curve.oracle_tuned,
            point=first.number if is_single else None,
            is_reference=is_reference(curve, first.point),
        )

    def _ends_of_curve(self, x: Floats) -> Ends:
        along, first, divergences = self._along_records, self._stretches[0], NOTHING
        if along:
            divergences = self._sorted_divergences
            clock = next(iter(first.samples.clocks.values()))
            lost = np.asarray(np.searchsorted(divergences, clock, side="right"), np.int64)
            diverged, diverged_at = len(divergences), self._first_divergence(first)
        else:
            lost = self._missing_replicas()
            diverged = int(lost.min(initial=self._replicas))
            diverged_at = next(iter(x[lost > 0].tolist()), None)
        ended = all(stretch.curve.ended for stretch in self._stretches)
        return Ends(
            lost, diverged, diverged_at, divergences, self._fate_in_words, ended, self._is_complete(along)
        )

    @property
    def _along_records(self) -> bool:
        """Whether x is the progress of training in a single run, so that the curve grows during the run."""
        return len(self._stretches) == 1 and self._steps.along_records(self._stretches[0].samples.clocks)

    @property
    def _is_resampled(self) -> bool:
        """Whether values must be interpolated at common x, because x differs between replicas."""
        return not names_in(self._picture.x).isdisjoint(self._stretches[0].samples.own_clocks)

    def _recorded_curve(self) -> tuple[Floats, Floats, Floats | None] | None:
        """Return x, the mean and its standard error as recorded, or None if the picture changes them."""
        picture, (first, *rest) = self._picture, self._stretches
        if rest or self._steps.change_values or picture.summary != "mean":
            return None
        if not picture.measure.is_number or not self._along_records or self._is_resampled:
            return None
        mean = first.curve.mean(picture.measure.name)
        assert mean is not None, "there are samples of it"
        x, values = self._steps.curve(
            [(first.point, first.samples._replace(values=mean[None], why_first_only=""))]
        )
        return x, values[0], first.curve.stderr_of(picture.measure.name)

    def _y_over(self, replicas: Sequence[int]) -> Floats:
        return self._estimated_curve(replicas)[1]

    @property
    def _sorted_divergences(self) -> Floats:
        """Sorted clock values at which replicas diverged. The curve must come from a single run."""
        divergences = self._stretches[0].curve.divergences[: self._replicas]
        return np.sort(divergences[~np.isnan(divergences)])

    @property
    def _fate_in_words(self) -> str:
        curves = [stretch.curve for stretch in self._stretches]
        inaccurate = sum(int(curve.inaccurate.sum()) for curve in curves)
        return fate(sum(curve.diverged for curve in curves), inaccurate)

    def _estimated_curve(self, replicas: Sequence[int] | None) -> tuple[Floats, Floats]:
        """Return the points x [N] and y [N] of the curve, from the given replicas (None for all)."""
        x, y = self._samples.values(replicas)
        if self._picture.relative is not None:
            y = _divided_by(x, y, self._divisor, replicas)
        if self._picture.share is not None:
            y = reductions.holds(self._picture.share, y)
        return x, reductions.summary(self._picture.summary, y)

    def _summarised_values(self) -> Floats | None:
        """Return the values [R, N] whose summary over replicas is the curve, or None.

        The result is None if the curve of a subset of replicas cannot be computed from these values. This is
        the case for a picture with `share` or with a mean as `read`, and without values of every replica.
        """
        picture = self._picture
        if picture.share is not None or (picture.reading is not None and picture.reading.of == "mean"):
            return None
        x, y = self._samples.values(None)
        if picture.relative is not None:
            y = _divided_by(x, y[: self._replicas], self._divisor, range(self._replicas))
        return y[: self._replicas] if len(y) >= self._replicas else None

    def _missing_replicas(self) -> NDArray[np.int64]:
        """Return, for each x position, the number of replicas that have lost their value.

        If no replica has ended early, positions where no replica has a value do not count: the measure is
        undefined there, such as the tenth eigenvalue of a matrix with nine.
        """
        _, y = self._samples.of_all
        missing = np.asarray(np.isnan(y).sum(0), np.int64)
        curves = [stretch.curve for stretch in self._stretches]
        if not any(curve.diverged or curve.inaccurate.any() for curve in curves):
            missing[missing == len(y)] = 0
        return missing

    def _first_divergence(self, only: Stretch) -> float | None:
        if not len(self._sorted_divergences):
            return None
        at = float(self._sorted_divergences[0])
        first, *_ = only.trace.planned
        if self._picture.x == first:
            return at
        if self._steps.measured:
            return None
        place = self._steps.place(only.point, only.trace.clocks_at(at, only.curve))
        return None if np.isnan(place) else place

    def _is_complete(self, along: bool) -> bool:
        if along:
            only = self._stretches[0].curve
            return only.sound == only.capacity
        ended = [
            stretch.curve.complete or stretch.curve.diverged == stretch.curve.replicas
            for stretch in self._stretches
        ]
        return all(ended) and not self._points_to_come

    @property
    def _points_to_come(self) -> list[Point]:
        numbers = {stretch.number for stretch in self._stretches}
        return [point for number, point in self._wanted_points.items() if number not in numbers]

    @property
    def _wanted_points(self) -> dict[int, Point]:
        _, apart = self._key
        learner = self._stretches[0].curve.learner
        return {
            number: point
            for number, point in _sweep_points_of(self._results, self._picture, apart).items()
            if any(candidate.name == learner for candidate in point.experiment.learners)
            and learner not in self._results.skipped.get(number, ())
        }


def _words_for_names(picture: Picture, sweep: Sweep) -> dict[str, str]:
    loss = f"{sweep.experiment.protocol.loss} "
    labels = _labels_of_measures(picture, sweep).items()
    brief = {
        measure_name: label.removeprefix("average ").removeprefix(loss) for measure_name, label in labels
    }
    return brief | sweep.symbols


def _labels_of_measures(picture: Picture, sweep: Sweep) -> dict[str, str]:
    loss = sweep.experiment.protocol.loss
    return {
        measure_name: measure.label_with(loss)
        for measure_name, measure in measures_in(names_in(picture.x)).items()
    }


def _x_label(picture: Picture, sweep: Sweep, words: Mapping[str, str]) -> str:
    return CLOCKS.get(picture.x) or written(picture.x, {**words, **_labels_of_measures(picture, sweep)})


def _y_label(picture: Picture, results: Results, words: Mapping[str, str]) -> str:
    how, loss = picture.reading, results.sweep.experiment.protocol.loss
    label = picture.measure.label_with(loss)
    if picture.summary in SPREADS:
        label = f"{picture.summary.replace('-', ' ')} of {label}"
    if how is not None and how.is_place:
        clock = next((trace.x_label for trace in results.traces.values()), how.over)
        over = clock if how.over == "record" else symbol(how.over, words)
        label = how.in_words(label, over)
    if how is not None and how.until is not None:
        label = f"{label} once {how.until.in_words(loss)}"
    if picture.times is not None and (picture.relative is None or how is not None):  # else, it cancels
        label = f"{label} × {written(picture.times, words)}"
    label = label if picture.relative is None else f"{label}, relative to {_divisor_in_words(picture)}"
    return label if picture.share is None else picture.share.in_words(label)


def _divisor_in_words(picture: Picture) -> str:
    line: Any = catalogue.members("theory").get(picture.relative or "")
    if line is None:
        return picture.relative or ""
    formula, title = line.formula.partition(", ")[0], line.title or line().kind
    return formula if len(formula) < len(title) else f"the {title}"
