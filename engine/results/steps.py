"""The steps of a picture from samples to a curve, the same for learners and for lines of the theory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.expressions import BadExpression, evaluate, evaluate_each, names_in
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.measures import measures_in
from engine.pictures import reductions
from engine.pictures.picture import RATE, Picture, Read
from engine.protocols import CLOCKS, Until
from engine.results.samples import Samples
from engine.spec.axis import Axis
from engine.spec.sweep import Point

Floats = NDArray[np.float64]


class ReplicasMissing(BadInput):
    """A picture reads every replica of a measure, and the results have the first one only."""


class AtPoint(NamedTuple):
    """A stretch of a curve: what one point of the axes contributes."""

    point: Point
    x: Floats
    """[N], a single number where x is made of axes alone."""

    values: Floats
    """[R, N]."""

    height: float = np.nan
    """y of a heat map."""


class PictureSteps:
    """`at`, `running`, `times`, `read` and x, in this order; what is left over is refused."""

    def __init__(self, picture: Picture, axes: tuple[Axis, ...]) -> None:
        self.picture, self._axes = picture, axes
        self._named = names_in(picture.x)
        self._reading = picture.reading

    def parts(self, taken: list[tuple[Point, Samples]]) -> list[AtPoint]:
        """What every point contributes, once all is read off.

        Raises: BadInput; ReplicasMissing for samples that have the values of the first replica only.
        """
        for _, samples in taken:
            if samples.why_first_only:
                raise ReplicasMissing("pictures", samples.why_first_only)
        parts = [part for point, samples in taken for part in self._rows(point, samples)]
        reading = self._reading
        if reading is not None and reading.over in self._along:
            return list(self._read_over_axis(reading, parts))
        return parts

    @property
    def _along(self) -> list[str]:
        """What every point has a place along: the axes and, as an axis of its own, the rates."""
        return [*(axis.name for axis in self._axes), RATE]

    def height(self, point: Point) -> float | None:
        """y of a heat map at a point; None where it is made of an index, or there is none."""
        if self.picture.y is None or not self._of_rows <= self._of_axes | {"n", "d"}:
            return None
        return float(self._number(self.picture.y, point, None))

    @property
    def _of_rows(self) -> set[str]:
        """What y names."""
        return set() if self.picture.y is None else names_in(self.picture.y)

    def _rows(self, point: Point, samples: Samples) -> Iterator[AtPoint]:
        """What a point contributes: a row of a map, or one for every place of the index that y goes along."""
        for name in self._of_rows & samples.indices.keys():
            for place in samples.indices[name].tolist():
                assert self.picture.y is not None, "it names an index"
                up = evaluate(self.picture.y, {**point.numbers, name: place})
                yield self._at_point(point, samples.at(name, place))._replace(height=up)
            return
        height = self.height(point)
        yield self._at_point(point, samples)._replace(height=np.nan if height is None else height)

    def curve(self, taken: list[tuple[Point, Samples]]) -> tuple[Floats, Floats]:
        """x [N] and values [R, N] of the samples of one curve. Raises: BadInput."""
        parts = self.parts(taken)
        if len(parts) == 1:
            return parts[0].x, parts[0].values
        self._check_nothing_left(parts)
        x = np.concatenate([part.x for part in parts])
        order = np.argsort(x, kind="stable")
        return x[order], np.concatenate([part.values for part in parts], 1)[:, order]

    def along_records(self, clocks: Collection[str]) -> bool:
        """Whether x goes along how far training has come, which is neither read off nor set."""
        if self._reading is not None and self._reading.over == "record":
            return False
        return not self._named.isdisjoint(clocks) and self.picture.at.keys().isdisjoint(clocks)

    @property
    def clocks(self) -> set[str]:
        """The clocks that it cannot do without."""
        picture = self.picture
        factor = names_in(picture.times) if picture.times is not None else set()
        return ((self._named | factor | picture.at.keys()) & CLOCKS.keys()) | self.measured

    @property
    def measured(self) -> set[str]:
        """What x names of measures, unless an axis has that name."""
        return measures_in(self._named - self._of_axes).keys() | set()

    @property
    def until(self) -> Until | None:
        """What ends the records that it reads."""
        return None if self._reading is None else self._reading.until

    @property
    def change_values(self) -> bool:
        """Whether what is drawn is something else than the measure."""
        picture = self.picture
        return any(
            one is not None
            for one in (picture.running, picture.times, picture.read, picture.relative, picture.share)
        )

    @property
    def along_rates(self) -> bool:
        """Whether x is made of the rates that a learner tries: its own axis, of which it has a run each."""
        return RATE in self._named - self._of_axes

    @property
    def over_rates(self) -> bool:
        """Whether something is read off along these."""
        return self._reading is not None and self._reading.over == RATE and RATE not in self._of_axes

    @property
    def x_of_axes(self) -> bool:
        """Whether x is made of axes alone."""
        return self._named <= self._of_axes | {"n", "d"}

    @property
    def _of_axes(self) -> set[str]:
        return {name for axis in self._axes for name in (axis.name, *axis.bound(axis.grid[0]))}

    @property
    def along_axes(self) -> bool:
        """Whether several points make a curve or a map: each is a number there, once it is known."""
        along = self._named | (names_in(self.picture.y) if self.picture.y is not None else set())
        over = {self._reading.over} if self._reading is not None else set()
        return bool(self._of_axes & (along | over)) or self.along_rates or self.over_rates

    def place(self, point: Point, clocks: dict[str, float]) -> float:
        """x where the clocks say this."""
        there = self.places(point, {name: np.array([time]) for name, time in clocks.items()})
        return float(there.item())

    def places(self, point: Point, clocks: Mapping[str, Floats]) -> Floats:
        """x at records where the clocks say this [S], or [1] where x is made of axes. Raises: BadInput."""
        samples = Samples(dict(clocks), {}, np.empty((0, 1)))
        return np.asarray(self._number(self.picture.x, point, samples)).reshape(-1)

    def _at_point(self, point: Point, samples: Samples) -> AtPoint:
        picture, reading = self.picture, self._reading
        if not self.along_records(samples.clocks):
            samples = samples.to_the_end()
        for name, value in picture.at.items():
            samples = samples.at(name, value)
        values = samples.values if self.until is None else samples.held()
        if picture.running is not None:
            values = reductions.running(picture.running, values, 1)
        if picture.times is not None:
            values = values * self._number(picture.times, point, samples, each=True)
        places = {"record": next(iter(samples.clocks.values())), **samples.indices}
        dimensions = list(places)
        if reading is not None and reading.over in places:
            if reading.of == "mean":
                values = reductions.summary("mean", values)[None]
            axis = 1 + dimensions.index(reading.over)
            values = reductions.read(reading, values, places[reading.over], axis)
            dimensions.remove(reading.over)
        if "record" in dimensions and not self._named & samples.clocks.keys():
            values = reductions.taken("last", values, 1)
            dimensions.remove("record")
        if not dimensions:
            x = np.array([self._number(picture.x, point, None)])
            return AtPoint(point, x, values[:, None])
        self._check_drawn_along(dimensions, samples)
        x = np.asarray(self._number(picture.x, point, samples)).reshape(-1)
        if self._named & samples.own.keys():
            own = np.asarray(self._number(picture.x, point, samples, each=True)).reshape(len(values), -1)
            values = reductions.resampled(values, own, x)
        return AtPoint(point, x, values)

    def _number(self, text: str, point: Point, samples: Samples | None, each: bool = False) -> float | Floats:
        """An expression at a point: a number, or where it names clocks or indices an array [S, *index].

        [R, S, *index] for `each` replica where it names clocks in which they differ.
        """
        known: dict[str, float | Floats] = {**point.numbers, **self._of_words(point)}
        if samples is not None:
            known |= samples.coordinates(each)
        try:
            return evaluate_each(text, known)
        except BadExpression as error:
            raise BadInput("pictures", f"{text!r}: {error}; it may name {listed(sorted(known))}") from error

    def _of_words(self, point: Point) -> dict[str, float]:
        """Which value of an axis of words a point has, from 1 on."""
        axes = zip(self._axes, point.place, strict=False)  # rates are an axis of their own behind these
        return {axis.name: place + 1.0 for axis, place in axes if axis.has_words}

    def _check_drawn_along(self, dimensions: list[str], samples: Samples) -> None:
        """See that one dimension is left, and that x goes along it. Raises: BadInput."""
        (first, *others) = dimensions
        along = {*samples.clocks} if first == "record" else {first}
        if not self._named & along:
            others.insert(0, first)
        if others:
            what = f"{' and '.join(others)} of {self.picture.measure.kind} must be x, read off, or set by at"
            raise BadInput("pictures", what)

    def _read_over_axis(self, reading: Read, parts: list[AtPoint]) -> Iterator[AtPoint]:
        """What is read off along an axis, for every place on the others."""
        number = self._along.index(reading.over)
        groups: dict[tuple[int, ...], list[AtPoint]] = defaultdict(list)
        for part in parts:
            place = part.point.place
            groups[place[:number] + place[number + 1 :]].append(part)
        for group in groups.values():
            group.sort(key=lambda part: coordinate(reading.over, part.point, number))
            places = np.array([coordinate(reading.over, part.point, number) for part in group])
            longest = max(group, key=lambda part: len(part.x))
            values = np.stack([_extended(part.values, len(longest.x)) for part in group], 1)  # [R, P, N]
            if reading.of == "mean":
                values = reductions.summary("mean", values)[None]
            yield AtPoint(longest.point, longest.x, reductions.read(reading, values, places, 1))

    def _check_nothing_left(self, parts: list[AtPoint]) -> None:
        """See that no axis varies along a curve but those that x is made of. Raises: BadInput."""
        read = {self._reading.over} if self._reading is not None else set()
        for number, axis in enumerate(self._axes):
            names = {axis.name, *(name for value in axis.grid for name in axis.bound(value))}
            if names & (self._named | read):
                continue
            if len({part.point.place[number] for part in parts}) > 1:
                what = f"{axis.name} varies along a curve; name it in x, curves, at or read"
                raise BadInput("pictures", what)


def coordinate(name: str, point: Point, number: int) -> float:
    """Where a point is on the axis of a name and number: its own number, or of words and tables which one
    it is, from 1 on."""
    return point.names.get(name, point.place[number] + 1.0)


def _extended(values: Floats, length: int) -> Floats:
    """Values [R, N] with NaN after their end, where a run ended before others did."""
    return np.pad(values, ((0, 0), (0, length - values.shape[1])), constant_values=np.nan)
