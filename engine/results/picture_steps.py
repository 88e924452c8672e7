"""Steps that compute the curves of a picture from samples.

Samples are the values of a measure at one sweep point, for one learner or for one theory line. Learners and
theory lines go through the same steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.expressions import BadExpression, evaluate, evaluate_each, names_in
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.measures import Measure, measures_in
from engine.pictures import reductions
from engine.pictures.picture import RATE, Picture, Read
from engine.protocols import CLOCKS, Until
from engine.results.trace import Along, Curve, TheoryLine, Trace
from engine.spec.axis import Axis
from engine.spec.sweep import Point

Floats = NDArray[np.float64]


class Samples(NamedTuple):
    """Values of a measure along one curve or theory line, at one sweep point."""

    clocks: dict[str, Floats]
    """Values of each clock at every record [S], by clock name. The first is the clock of the run.

    If the picture's x uses measures, their values also count as clocks, and come last.
    """

    indices: dict[str, Floats]
    """Coordinates along the dimensions `*index` of `values`, in their order, by index name."""

    values: Floats
    """Values [R, S, *index] of the measure for R replicas at S records; NaN where it was not measured."""

    end: dict[str, float] | None = None
    """Value of each clock at which the last replica diverged; None if some replica did not diverge."""

    own_clocks: dict[str, Floats] = {}  # noqa: RUF012 - nobody changes it
    """Values [R, S] of the clocks that differ between replicas; `clocks` has the least value over replicas.
    """

    passed: NDArray[np.bool_] | None = None
    """Whether the picture's condition `until` is met at each record, or was met before it, [R or 1, S].

    It is None if the picture has no such condition.
    """

    why_first_only: str = ""
    """Reason why some needed values are stored for the first replica only, or "" if they are stored for all.

    The picture needs the values of its measure, and of the measure in its condition `until`.
    """

    def coordinates(self, by_replica: bool = False) -> dict[str, Floats]:
        """Return clocks and indices as arrays that broadcast with `values`.

        A clock that differs between replicas gives its value in each replica if `by_replica` is true, and
        otherwise the least value.
        """
        rank = 1 + len(self.indices)
        clocks = self.clocks | self.own_clocks if by_replica else self.clocks
        shaped = {clock: times.reshape(*times.shape, *[1] * (rank - 1)) for clock, times in clocks.items()}
        for at, (name, places) in enumerate(self.indices.items(), start=1):
            shaped[name] = places.reshape([-1 if axis == at else 1 for axis in range(rank)])
        return shaped

    def at(self, name: str, nearest_to: float) -> Samples:
        """Return the samples at one value of the clock or index `name`: the value nearest to `nearest_to`.

        Samples without a clock or index of this name are returned unchanged.
        """
        if name in self.clocks:
            record = [int(np.abs(self.clocks[name] - nearest_to).argmin())]
            clocks = {clock: times[record] for clock, times in self.clocks.items()}
            own_clocks = {clock: times[:, record] for clock, times in self.own_clocks.items()}
            passed = None if self.passed is None else self.passed[:, record]
            return self._replace(
                clocks=clocks, own_clocks=own_clocks, values=self.values[:, record], passed=passed
            )
        if name in self.indices:
            axis = 2 + list(self.indices).index(name)
            place = int(np.abs(self.indices[name] - nearest_to).argmin())
            remaining = {other: places for other, places in self.indices.items() if other != name}
            return self._replace(indices=remaining, values=np.asarray(self.values.take(place, axis)))
        return self

    def held(self) -> Floats:
        """Return the values of the measure, held constant from the first record that meets `until`.

        The picture stops reading a replica when the replica meets the condition `until`. If a replica never
        meets this condition, all values of the replica are NaN.
        """
        if self.passed is None:
            return np.full_like(self.values, np.nan)
        return reductions.held(self.values, self.passed)

    def subset(self, replicas: Sequence[int] | None) -> Samples:
        if replicas is None or len(self.values) == 1:
            return self
        subset, passed = [replica for replica in replicas if replica < len(self.values)], self.passed
        if passed is not None and len(passed) > 1:
            passed = passed[subset]
        own_clocks = {clock: times[subset] for clock, times in self.own_clocks.items()}
        return self._replace(own_clocks=own_clocks, values=self.values[subset], passed=passed)

    def to_the_end(self) -> Samples:
        """If all replicas diverged, append a record of NaN, with the clock values of the last divergence."""
        if self.end is None:
            return self
        clocks = {clock: np.append(times, self.end[clock]) for clock, times in self.clocks.items()}
        nothing = np.full_like(self.values, np.nan, shape=(len(self.values), 1, *self.values.shape[2:]))
        own_clocks = {
            clock: np.pad(times, ((0, 0), (0, 1)), mode="edge") for clock, times in self.own_clocks.items()
        }
        passed = None if self.passed is None else np.pad(self.passed, ((0, 0), (0, 1)))
        values = np.concatenate([self.values, nothing], 1)
        return Samples(clocks, self.indices, values, own_clocks=own_clocks, passed=passed)


def clocks_of(curve: Curve, names: Collection[str]) -> dict[str, Floats]:
    """Return a curve's clocks, and the means over replicas of its measures in `names`, by name.

    Each array has one value per record. Measures in `names` that were not recorded are left out.
    """
    means = {measure_name: curve.mean(measure.name) for measure_name, measure in measures_in(names).items()}
    return curve.clocks | {measure_name: mean for measure_name, mean in means.items() if mean is not None}


def of_curve(
    curve: Curve, measure: Measure, trace: Trace, names: Collection[str] = (), until: Until | None = None
) -> Samples | None:
    """Return the values of a measure along a curve as samples, or None if the curve has no values of it.

    Args:
        names: names that occur in the picture's expression for x. Measures among these names count as clocks.
        until: condition up to which the picture reads each replica; None reads all records.
    """
    passed = None if until is None else _has_passed(curve, until)
    ended_by = "" if until is None or until.measure is None else curve.why_first_only(until.measure)
    ended = curve.diverged == curve.replicas and curve.length < curve.capacity
    end = trace.clocks_at(float(np.max(curve.divergences)), curve) if ended else None
    if end is not None:
        end |= dict.fromkeys(measures_in(names), np.nan)
    if measure.is_number:
        values = curve.values(measure.name)
        if values is None:
            return None
        own_clocks = {clock: times.T[: values.shape[1]] for clock, times in curve.own_clocks.items()}
        why = curve.why_first_only(measure.name) or ended_by
        return Samples(clocks_of(curve, names), {}, values.T, end, own_clocks, passed, why)
    arrays = curve.array(measure.name)
    if arrays is None:
        return None
    records = np.searchsorted(curve.x, arrays.x)
    clocks = {clock: times[records] for clock, times in clocks_of(curve, names).items()}
    values = np.moveaxis(arrays.values, 1, 0)
    own_clocks = {clock: times[records].T[: len(values)] for clock, times in curve.own_clocks.items()}
    passed = None if passed is None else passed[:, records]
    return Samples(clocks, dict(curve.indices(measure.name)), values, end, own_clocks, passed, ended_by)


def _has_passed(curve: Curve, until: Until) -> NDArray[np.bool_]:
    """Return whether each of R replicas meets the condition `until` at each of S records.

    The result has the shape [R, S], or [1, S] if all replicas agree.
    """
    values = None if until.measure is None else curve.values(until.measure)
    return until.passed(curve.clocks, {} if values is None else {str(until.measure): values}).T


def of_line(
    line: TheoryLine, trace: Trace, beyond: bool = False, clocks: Collection[str] = ()
) -> dict[str, Samples]:
    """Return the values of a theory line as samples, by the name of the curve that the line belongs to.

    If all curves share the line, the only key is "". If all replicas share the line, the samples have a
    single replica. The result is empty if the line has no values.

    Args:
        beyond: whether to include the values of the line that are known beyond the last evaluation point.
        clocks: names of the picture's clocks. If some of these are measured during training and not planned,
            the line has samples at the evaluation points of each curve. All curves then share the line only
            if their clocks agree.
    """
    by_curve = line.by_curve(trace.curves)
    if not by_curve and not len(line.values):
        return {}
    common = Along(
        trace.planned, line.indices, line.values[None] if line.by_replica is None else line.by_replica
    )
    if beyond and line.beyond is not None:
        further = line.beyond
        extended = {clock: np.append(times, further.clocks[clock]) for clock, times in common.clocks.items()}
        common = Along(extended, line.indices, np.append(common.values, further.values, 1))
    samples_by_curve = {curve: Samples(*along) for curve, along in (by_curve or {"": common}).items()}
    measured = set(clocks) - trace.planned.keys()
    return _samples_along_measured(samples_by_curve, line, trace, measured) if measured else samples_by_curve


def _samples_along_measured(
    samples_by_curve: dict[str, Samples], line: TheoryLine, trace: Trace, measured: set[str]
) -> dict[str, Samples]:
    """Return a theory line at the clock values that were measured along each curve, by curve name.

    Curves that the line does not apply to, or that lack one of the clocks `measured`, are left out. If all
    remaining curves have the same line and the same clock values, the only key is "".
    """
    by_curve: dict[str, Samples] = {}
    for curve in trace.curves:
        samples = samples_by_curve.get(curve.name, samples_by_curve.get(""))
        measured_clocks = clocks_of(curve, measured)
        if samples is None or curve.learner not in line.applies_to or not measured <= measured_clocks.keys():
            continue
        records = min(curve.length, samples.values.shape[1])
        clocks = {clock: times[:records] for clock, times in (samples.clocks | measured_clocks).items()}
        by_curve[curve.name] = samples._replace(clocks=clocks, values=samples.values[:, :records])
    # Curves may differ in length. They agree if the clock values of each begin those of the longest curve.
    longest = max(by_curve.values(), key=lambda candidate: candidate.values.shape[1], default=None)
    if "" not in samples_by_curve or longest is None:
        return by_curve
    alike = all(_is_beginning_of(candidate, longest, measured) for candidate in by_curve.values())
    return {"": longest} if alike else by_curve


def _is_beginning_of(shorter: Samples, longest: Samples, measured: set[str]) -> bool:
    records = shorter.values.shape[1]
    return all(np.array_equal(shorter.clocks[clock], longest.clocks[clock][:records]) for clock in measured)


class ReplicasMissing(BadInput):
    """Error: a picture needs the values of all replicas, but only those of the first were stored."""


class AtPoint(NamedTuple):
    """The x positions and values of one sweep point, as a part of a curve or as a row of a heat map."""

    point: Point
    x: Floats
    """Positions [N] on the x-axis; N = 1 if x depends only on sweep axes."""

    values: Floats
    """Values [R, N] of R replicas at N positions."""

    height: float = np.nan
    """Position of the row on the y-axis of a heat map; NaN for curves."""


class PictureSteps:
    """Computes a picture's curves by its fields `at`, `running`, `times`, `read` and x, in this order.

    Each field may remove a dimension of the samples. After the last one, a single dimension remains, along x.
    """

    def __init__(self, picture: Picture, axes: tuple[Axis, ...]) -> None:
        self.picture, self._axes = picture, axes
        self._named = names_in(picture.x)
        self._reading = picture.reading

    def parts(self, sampled: list[tuple[Point, Samples]]) -> list[AtPoint]:
        """Apply the picture's fields to the samples, and return x positions and values by sweep point.

        The picture's field `read` may take, for example, the least value along a sweep axis. Sweep points
        that differ only on this axis then give one common result. The y-axis of a heat map may be an index of
        the measure, such as a layer. A sweep point then gives one result for every value of this index.

        Raises: BadInput; ReplicasMissing for samples that have only the values of the first replica.
        """
        for _, samples in sampled:
            if samples.why_first_only:
                raise ReplicasMissing("pictures", samples.why_first_only)
        parts = [part for point, samples in sampled for part in self._rows_at_point(point, samples)]
        reading = self._reading
        if reading is not None and reading.over in self._axes_with_rate:
            return list(self._readings_over_axis(reading, parts))
        return parts

    @property
    def _axes_with_rate(self) -> list[str]:
        return [*(axis.name for axis in self._axes), RATE]

    def height(self, point: Point) -> float | None:
        """Return the position of a sweep point on the y-axis of a heat map.

        Return None for a picture of curves, and if y depends on more than sweep axes, n and d.
        """
        if self.picture.y is None or not self._names_in_y <= self._names_of_axes | {"n", "d"}:
            return None
        return float(self._evaluated(self.picture.y, point, None))

    @property
    def _names_in_y(self) -> set[str]:
        return set() if self.picture.y is None else names_in(self.picture.y)

    def _rows_at_point(self, point: Point, samples: Samples) -> Iterator[AtPoint]:
        for index in self._names_in_y & samples.indices.keys():
            for place in samples.indices[index].tolist():
                assert self.picture.y is not None, "it names an index"
                up = evaluate(self.picture.y, {**point.numbers, index: place})
                yield self._sample_at_point(point, samples.at(index, place))._replace(height=up)
            return
        height = self.height(point)
        yield self._sample_at_point(point, samples)._replace(height=np.nan if height is None else height)

    def curve(self, sampled: list[tuple[Point, Samples]]) -> tuple[Floats, Floats]:
        """Return the x positions [N] and values [R, N] of a curve. Raises: BadInput."""
        parts = self.parts(sampled)
        if len(parts) == 1:
            return parts[0].x, parts[0].values
        self._check_all_axes_used(parts)
        x = np.concatenate([part.x for part in parts])
        # A stable sort keeps the order of sweep points with equal x, so that pictures are reproducible.
        order = np.argsort(x, kind="stable")
        return x[order], np.concatenate([part.values for part in parts], 1)[:, order]

    def along_records(self, clocks: Collection[str]) -> bool:
        """Return whether x grows while a run trains, because the expression for x contains a clock.

        It does not grow if `at` fixes a clock, or if `read` reduces all records of a run to one number.
        """
        if self._reading is not None and self._reading.over == "record":
            return False
        return not self._named.isdisjoint(clocks) and self.picture.at.keys().isdisjoint(clocks)

    @property
    def clocks(self) -> set[str]:
        """Clocks that the picture needs, including the measures in the expression for x."""
        picture = self.picture
        factor = names_in(picture.times) if picture.times is not None else set()
        return ((self._named | factor | picture.at.keys()) & CLOCKS.keys()) | self.measured

    @property
    def measured(self) -> set[str]:
        """Measures in the expression for x, by name.

        If a sweep axis has the same name as a measure, the name means the axis.
        """
        return measures_in(self._named - self._names_of_axes).keys() | set()

    @property
    def until(self) -> Until | None:
        return None if self._reading is None else self._reading.until

    @property
    def change_values(self) -> bool:
        picture = self.picture
        return any(
            step is not None
            for step in (picture.running, picture.times, picture.read, picture.relative, picture.share)
        )

    @property
    def along_rates(self) -> bool:
        """Whether x is the learning rate. Each rate then counts as a sweep point."""
        return RATE in self._named - self._names_of_axes

    @property
    def over_rates(self) -> bool:
        return self._reading is not None and self._reading.over == RATE and RATE not in self._names_of_axes

    @property
    def x_of_axes(self) -> bool:
        """Whether x depends on sweep axes, n and d alone, so that each sweep point has one x."""
        return self._named <= self._names_of_axes | {"n", "d"}

    @property
    def _names_of_axes(self) -> set[str]:
        return {name for axis in self._axes for name in (axis.name, *axis.bound(axis.grid[0]))}

    @property
    def along_axes(self) -> bool:
        """Whether one curve or heat map combines the results of several sweep points or rates.

        If x contains no clock, a training run then contributes only after it has ended.
        """
        along = self._named | (names_in(self.picture.y) if self.picture.y is not None else set())
        over = {self._reading.over} if self._reading is not None else set()
        return bool(self._names_of_axes & (along | over)) or self.along_rates or self.over_rates

    def place(self, point: Point, clocks: dict[str, float]) -> float:
        x = self.places(point, {clock: np.array([time]) for clock, time in clocks.items()})
        return float(x.item())

    def places(self, point: Point, clocks: Mapping[str, Floats]) -> Floats:
        """Return x positions [S] for clocks [S], or [1] if x depends only on sweep axes. Raises: BadInput."""
        samples = Samples(dict(clocks), {}, np.empty((0, 1)))
        return np.asarray(self._evaluated(self.picture.x, point, samples)).reshape(-1)

    def _sample_at_point(self, point: Point, samples: Samples) -> AtPoint:
        picture, reading = self.picture, self._reading
        # A curve that follows the training just stops where it diverges. Other pictures show the last value
        # of a run. If the run diverges, this must be NaN and not the last value before the divergence.
        if not self.along_records(samples.clocks):
            samples = samples.to_the_end()
        for dimension, value in picture.at.items():
            samples = samples.at(dimension, value)
        y = samples.values if self.until is None else samples.held()
        # The order matters: (running mean of loss) × k differs from the running mean of loss × k.
        if picture.running is not None:
            times = next(iter(samples.clocks.values()))
            y = reductions.running(picture.running, reductions.from_time(picture.burn_in, times, y), 1)
        if picture.times is not None:
            y = y * self._evaluated(picture.times, point, samples, by_replica=True)
        places = {"record": next(iter(samples.clocks.values())), **samples.indices}
        dimensions = list(places)
        if reading is not None and reading.over in places:
            if reading.of == "mean":
                y = reductions.summary("mean", y)[None]
            axis = 1 + dimensions.index(reading.over)
            y = reductions.read(reading, y, places[reading.over], axis)
            dimensions.remove(reading.over)
        if "record" in dimensions and not self._named & samples.clocks.keys():
            y = reductions.selected("last", y, 1)
            dimensions.remove("record")
        if not dimensions:
            x = np.array([self._evaluated(picture.x, point, None)])
            return AtPoint(point, x, y[:, None])
        self._check_drawn_along(dimensions, samples)
        x = np.asarray(self._evaluated(picture.x, point, samples)).reshape(-1)
        if self._named & samples.own_clocks.keys():
            own_x = np.asarray(self._evaluated(picture.x, point, samples, by_replica=True)).reshape(
                len(y), -1
            )
            y = reductions.resampled(y, own_x, x)
        return AtPoint(point, x, y)

    def _evaluated(
        self, text: str, point: Point, samples: Samples | None, by_replica: bool = False
    ) -> float | Floats:
        """Evaluate `text`, an expression of the picture, at a sweep point. Raises: BadInput.

        If the expression contains clocks or indices, the result broadcasts with [S, *index], or with [R, S,
        *index] if `by_replica` is true. Otherwise, the result is a number.
        """
        numbers: dict[str, float | Floats] = {**point.numbers, **self._positions_on_axes(point)}
        if samples is not None:
            numbers |= samples.coordinates(by_replica)
        try:
            return evaluate_each(text, numbers)
        except BadExpression as error:
            raise BadInput(
                "pictures", f"{text!r}: {error}; it may contain {listed(sorted(numbers))}"
            ) from error

    def _positions_on_axes(self, point: Point) -> dict[str, float]:
        """Return the point's position, counted from 1, on each sweep axis whose values are words."""
        axes = zip(self._axes, point.place, strict=False)  # the index of a rate may follow
        return {axis.name: place + 1.0 for axis, place in axes if axis.has_words}

    def _check_drawn_along(self, dimensions: list[str], samples: Samples) -> None:
        (first, *rest) = dimensions
        along = {*samples.clocks} if first == "record" else {first}
        if not self._named & along:
            rest.insert(0, first)
        if rest:
            undrawn = f"{' and '.join(rest)} of {self.picture.measure.kind}"
            raise BadInput("pictures", f"{undrawn} must be named in `x`, `read` or `at`")

    def _readings_over_axis(self, reading: Read, parts: list[AtPoint]) -> Iterator[AtPoint]:
        number = self._axes_with_rate.index(reading.over)
        groups: dict[tuple[int, ...], list[AtPoint]] = defaultdict(list)
        for part in parts:
            place = part.point.place
            groups[place[:number] + place[number + 1 :]].append(part)
        for group in groups.values():
            group.sort(key=lambda part: coordinate(reading.over, part.point, number))
            places = np.array([coordinate(reading.over, part.point, number) for part in group])
            longest = max(group, key=lambda part: len(part.x))
            stacked = np.stack([_padded(part.values, len(longest.x)) for part in group], 1)  # [R, P, N]
            if reading.of == "mean":
                stacked = reductions.summary("mean", stacked)[None]
            yield AtPoint(longest.point, longest.x, reductions.read(reading, stacked, places, 1))

    def _check_all_axes_used(self, parts: list[AtPoint]) -> None:
        """Raise BadInput if a curve mixes values of a sweep axis that neither x nor `read` refers to."""
        read = {self._reading.over} if self._reading is not None else set()
        for number, axis in enumerate(self._axes):
            names = {
                axis.name,
                *(axis_name for axis_value in axis.grid for axis_name in axis.bound(axis_value)),
            }
            if names & (self._named | read):
                continue
            if len({part.point.place[number] for part in parts}) > 1:
                reason = (
                    f"a curve mixes several values of {axis.name}; name it in `x`, `curves`, `at` or `read`"
                )
                raise BadInput("pictures", reason)


def coordinate(name: str, point: Point, number: int) -> float:
    """Return the value of a sweep axis at a point; for words or tables, its position counted from 1.

    Args:
        number: index of the axis.
    """
    return point.names.get(name, point.place[number] + 1.0)


def _padded(values: Floats, length: int) -> Floats:
    """Append columns of NaN to `values` up to `length` columns.

    A run that ends early has fewer columns than other runs.
    """
    return np.pad(values, ((0, 0), (0, length - values.shape[1])), constant_values=np.nan)
