"""Sweep points of an experiment, with one run each, and the marks of its pictures.

A mark is a straight reference line. If its expression uses sweep axes, every curve may have a separate mark,
or the mark may vary along an axis.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from engine.claims import Claim
from engine.core.expressions import BadExpression, evaluate, names_in, values_written
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.pictures.picture import RATE, Mark, Marked, Picture
from engine.pictures.view import NEAR
from engine.problems.data_files import DataReport
from engine.spec.axis import Axis
from engine.spec.experiment import Experiment


@dataclass(frozen=True)
class Point:
    """Sweep point: one value of every sweep axis, and the experiment with these values."""

    place: tuple[int, ...]
    """Index of the point's value on each axis."""

    names: Mapping[str, float]
    """Numbers that expressions may use at this point, by name of the axis or of its table column."""

    label: str
    experiment: Experiment

    def is_in(self, picture: Picture) -> bool:
        """Return whether the point has the values of sweep axes that the picture's field `at` fixes."""
        wanted = (
            (self.names[axis_name], number)
            for axis_name, number in picture.at.items()
            if axis_name in self.names
        )
        return all(abs(coordinate - number) <= NEAR * abs(number) for coordinate, number in wanted)

    def at_rate(self, number: int, rate: float) -> Point:
        """Return a copy of this point with a learning rate as an additional coordinate.

        `number` is the index of `rate` among the learner's rates.
        """
        return replace(self, place=(*self.place, number), names={**self.names, RATE: rate})

    @property
    def numbers(self) -> dict[str, float]:
        """Numbers that a picture's expressions may use at this point, besides clocks and indices."""
        n, d = self.experiment.n, self.experiment.d
        return {**self.names, "n": float(n), "d": float(d)}


@dataclass(frozen=True)
class Sweep:
    """All sweep points of an experiment. Without sweep axes, there is one sweep point."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    order: tuple[str, ...] = ()
    """Names of the learners in document order; empty if there is no document."""

    unjudged: Mapping[int, str] = field(default_factory=dict)
    """Reasons why claims are not judged, by index of the claim."""

    @property
    def experiment(self) -> Experiment:
        """Experiment at the first sweep point. Settings that all sweep points share are read from it."""
        return self.points[0].experiment

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims about all runs together. Numbers in their texts are those of the first sweep point."""
        return self.experiment.claims

    def claims_along(self, picture: Picture, apart: tuple[int, ...]) -> tuple[Claim, ...]:
        """Return the claims, with their numbers evaluated for one curve of a picture.

        Numbers of a claim may be expressions of sweep axes, such as d, whose values differ between curves.
        `apart` contains the indices of the curve's values on these axes.
        """
        return next(point.experiment.claims for point in self.points if self.apart(picture, point) == apart)

    def apart(self, picture: Picture, point: Point) -> tuple[int, ...]:
        """Return the index of the point's value on each sweep axis that separates curves of the picture.

        Raises: BadInput.
        """
        return tuple(point.place[self.number_of(axis_name)] for axis_name in picture.split_by)

    def number_of(self, axis_name: str) -> int:
        for number, axis in enumerate(self.axes):
            if axis.name == axis_name:
                return number
        choices = listed(axis.name for axis in self.axes) or "none"
        raise BadInput("pictures", f"there is no axis {axis_name!r}; there are {choices}")

    def name(self, name: str, picture: Picture, apart: tuple[int, ...]) -> str:
        """Return the name of a curve: the learner's name and values of sweep axes, as in `GD, d = 4`."""
        axes = [self.axes[self.number_of(axis)] for axis in picture.split_by]
        labels = (axis.label(axis.grid[place]) for axis, place in zip(axes, apart, strict=True))
        return ", ".join([name, *labels])

    @property
    def data_sentences(self) -> tuple[str, ...]:
        sentences = (point.experiment.problem.data_sentence for point in self.points)
        return tuple(sentence for sentence in dict.fromkeys(sentences) if sentence)

    @property
    def data_reports(self) -> tuple[DataReport, ...]:
        reports = (point.experiment.problem.data_reports for point in self.points)
        return tuple(dict.fromkeys(report for of_point in reports for report in of_point))

    @cached_property
    def idle_axes(self) -> tuple[str, ...]:
        """Sentences about sweep axes whose values change no run, because no field depends on them."""
        return tuple(
            f"No field uses the axis {axis.name}: its {len(axis.grid)} values repeat the same experiment"
            for number, axis in enumerate(self.axes)
            if self._is_idle(number)
        )

    def _is_idle(self, number: int) -> bool:
        groups: dict[tuple[int, ...], list[Experiment]] = defaultdict(list)
        for point in self.points:
            groups[point.place[:number] + point.place[number + 1 :]].append(point.experiment)
        pairs = [pair for group in groups.values() for pair in pairwise(group)]
        return bool(pairs) and not any(_runs_differ(*pair) for pair in pairs)

    @cached_property
    def symbols(self) -> dict[str, str]:
        return {axis.name: axis.symbol for axis in self.axes if axis.symbol is not None}

    @cached_property
    def learners(self) -> tuple[str, ...]:
        """Names of all learners in order, even if a learner is missing at some sweep points."""
        present = dict.fromkeys(
            learner.name for point in self.points for learner in point.experiment.learners
        )
        return tuple(
            dict.fromkeys(
                [*(learner_name for learner_name in self.order if learner_name in present), *present]
            )
        )


def _runs_differ(experiment: Experiment, other: Experiment) -> bool:
    """Return whether two experiments differ in more than the list of their learners.

    The result is also True if the experiments have no learner in common.
    """
    learners = {learner.name: learner for learner in other.learners}
    return (
        (experiment.problem, experiment.protocol, experiment.run)
        != (other.problem, other.protocol, other.run)
        or any(learners.get(learner.name, learner) != learner for learner in experiment.learners)
        or {learner.name for learner in experiment.learners}.isdisjoint(learners)
    )


def only(experiment: Experiment) -> Sweep:
    """Return the sweep of an experiment without sweep axes; it has a single sweep point."""
    return Sweep((), (Point((), {}, "", experiment),))


def marks_of(sweep: Sweep, picture: Picture) -> list[Marked]:
    """Return the marks of a picture, with the values that they have at the sweep points of the picture.

    A mark is drawn as a straight line, or as a curve if its value depends on the axis along x or y. Raises:
    BadInput if a straight line has several values in the sweep, or if a curve has several values at one
    point.
    """
    pictures = sweep.experiment.pictures
    number = next((number for number, other_picture in enumerate(pictures) if other_picture == picture), None)
    marked: list[Marked] = []
    for place, mark in enumerate(picture.marks):
        if number is None:  # the picture is not one of the experiment's, so its marks depend on no axis
            marked.append(_straight_mark(mark.title, mark))
            continue
        points = [point for point in sweep.points if point.is_in(picture)]
        pairs = [(point, point.experiment.pictures[number].marks[place]) for point in points]
        marked += _marks_along(sweep, picture, pairs, f"pictures[{number}].marks[{place}]")
    return marked


def _marks_along(sweep: Sweep, picture: Picture, pairs: list[tuple[Point, Mark]], where: str) -> list[Marked]:
    if len({mark for _, mark in pairs}) <= 1:
        return [_straight_mark(mark.title, mark) for _, mark in pairs[:1]]
    apart: dict[tuple[int, ...], list[tuple[Point, Mark]]] = defaultdict(list)
    for point, mark in pairs:
        apart[sweep.apart(picture, point)].append((point, mark))
    marked = []
    for group, group_pairs in apart.items():
        (_, mark), *rest = group_pairs
        if all(other == mark for _, other in rest):
            drawn = _straight_mark(mark.title, mark)
        else:
            drawn = _curved_mark(sweep, picture, mark.name or "mark", group_pairs, where)
        label = sweep.name("", picture, group)
        marked.append(drawn._replace(name=drawn.kind + values_written(label, sweep.symbols), apart=group))
    return marked


def _straight_mark(title: str, mark: Mark) -> Marked:
    return Marked(title, () if mark.x is None else (mark.x,), () if mark.y is None else (mark.y,), title)


def _curved_mark(
    sweep: Sweep, picture: Picture, mark_name: str, pairs: list[tuple[Point, Mark]], where: str
) -> Marked:
    """Return a mark whose y depends on the picture's x, or whose x depends on the picture's y."""
    at_y = pairs[0][1].x is None
    along = picture.x if at_y else picture.y
    height_by_place: dict[float, float] = {}
    for point, mark in pairs:
        height = mark.y if at_y else mark.x
        assert height is not None, "a mark is at x or at y, the same at every point"
        try:
            at = None if along is None else evaluate(along, point.numbers)
        except BadExpression:  # the expression uses a clock or an index
            at = None
        if at is None or height_by_place.setdefault(at, height) != height:
            raise BadInput(where, _error_of_positions(sweep.axes, picture, mark_name, at_y))
    places = tuple(sorted(height_by_place))
    numbers = tuple(height_by_place[place] for place in places)
    return (
        Marked(mark_name, places, numbers, mark_name)
        if at_y
        else Marked(mark_name, numbers, places, mark_name)
    )


def _error_of_positions(axes: tuple[Axis, ...], picture: Picture, mark_name: str, at_y: bool) -> str:
    named = names_in((picture.x if at_y else picture.y) or "")
    bound = {axis.name: axis.bound(axis.grid[0]) for axis in axes}
    along = [name for names in bound.values() for name in names if name in named]
    apart = [name for axis in picture.split_by for name in bound[axis]]
    allowed = listed(dict.fromkeys([*along, *apart]))
    right = f"they may depend only on {allowed}" if allowed else "they may not depend on axes"
    return f"{mark_name!r} has different positions at different points of a curve; {right}"
