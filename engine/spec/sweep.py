"""The points of the axes of an experiment, at each of which there is a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from engine.claims import Claim
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.pictures.picture import RATE, Picture
from engine.pictures.view import NEAR
from engine.problems.data_files import DataReport
from engine.spec.axis import Axis
from engine.spec.experiment import Experiment


@dataclass(frozen=True)
class Point:
    """One value of every axis, and the experiment that has them."""

    place: tuple[int, ...]
    """The number of the value of each axis."""

    names: Mapping[str, float]
    """What expressions may name here: axes, and the columns of those that are tables."""

    label: str
    experiment: Experiment

    def is_in(self, picture: Picture) -> bool:
        """Whether it is where `at` of a picture wants it."""
        wanted = ((self.names[name], value) for name, value in picture.at.items() if name in self.names)
        return all(abs(here - value) <= NEAR * abs(value) for here, value in wanted)

    def at_rate(self, number: int, rate: float) -> Point:
        """The same where one of the rates of a learner, its own axis, is a name, too."""
        return replace(self, place=(*self.place, number), names={**self.names, RATE: rate})

    @property
    def numbers(self) -> dict[str, float]:
        """What expressions of a picture may name here, beside clocks and indices."""
        n, d = self.experiment.n, self.experiment.d
        return {**self.names, "n": float(n), "d": float(d)}


@dataclass(frozen=True)
class Sweep:
    """All points of an experiment; a preset without axes has one."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    order: tuple[str, ...] = ()
    """The names of the learners as the document lists them, if there is one."""

    unjudged: Mapping[int, str] = field(default_factory=dict)
    """Reasons why claims are not judged, by their place."""

    @property
    def experiment(self) -> Experiment:
        """The experiment at the first point, which stands for all where they do not differ."""
        return self.points[0].experiment

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims about all runs together, with the numbers that they have at the first point."""
        return self.experiment.claims

    def claims_along(self, picture: Picture, apart: tuple[int, ...]) -> tuple[Claim, ...]:
        """The claims with the numbers that they have along a curve, at these values of the axes that split
        curves."""
        return next(point.experiment.claims for point in self.points if self.apart(picture, point) == apart)

    def apart(self, picture: Picture, point: Point) -> tuple[int, ...]:
        """Which values a point has of the axes that split the curves of a picture. Raises: BadInput."""
        return tuple(point.place[self.number_of(name)] for name in picture.split_by)

    def number_of(self, name: str) -> int:
        """Which axis has a name. Raises: BadInput."""
        for number, axis in enumerate(self.axes):
            if axis.name == name:
                return number
        known = listed(axis.name for axis in self.axes) or "none"
        raise BadInput("pictures", f"there is no axis {name!r}; there are {known}")

    def name(self, name: str, picture: Picture, apart: tuple[int, ...]) -> str:
        """A name with the values of the axes that the curves of a picture are split by."""
        axes = [self.axes[self.number_of(axis)] for axis in picture.split_by]
        labels = (axis.label(axis.grid[place]) for axis, place in zip(axes, apart, strict=True))
        return ", ".join([name, *labels])

    @property
    def data_sentences(self) -> tuple[str, ...]:
        """How the data of the points were read from files, a line for each pair of instances and labels."""
        sentences = (point.experiment.problem.data_sentence for point in self.points)
        return tuple(sentence for sentence in dict.fromkeys(sentences) if sentence)

    @property
    def data_reports(self) -> tuple[DataReport, ...]:
        """How the data of the points were read from files, for each file."""
        reports = (point.experiment.problem.data_reports for point in self.points)
        return tuple(dict.fromkeys(report for of_point in reports for report in of_point))

    @cached_property
    def symbols(self) -> dict[str, str]:
        """What charts call the axes that say it."""
        return {axis.name: axis.symbol for axis in self.axes if axis.symbol is not None}

    @cached_property
    def learners(self) -> tuple[str, ...]:
        """The names of all learners in their order, also of those that are not at every point."""
        there = dict.fromkeys(learner.name for point in self.points for learner in point.experiment.learners)
        return tuple(dict.fromkeys([*(name for name in self.order if name in there), *there]))


def only(experiment: Experiment) -> Sweep:
    """The sweep of an experiment without axes."""
    return Sweep((), (Point((), {}, "", experiment),))
