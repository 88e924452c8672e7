"""Whether a picture can show all points of the axes, and claims mean the same along a curve."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from engine.claims import Claim
from engine.core.expressions import names_in
from engine.core.parts import BadInput
from engine.core.texts import quoted
from engine.pictures.picture import Picture
from engine.spec.experiment import Experiment
from engine.spec.marks import marks_of
from engine.spec.pictures import picture_of
from engine.spec.sweep import Sweep


def check_points(sweep: Sweep) -> None:
    """See that every picture of a sweep, every claim and every text is one for all of its points.

    Raises: BadInput.
    """
    _check_texts(sweep)
    for number, picture in enumerate(sweep.experiment.pictures):
        for point in sweep.points:
            here = structs.replace(point.experiment.pictures[number], marks=picture.marks)
            if here != picture:
                what = f"it is another where {point.label}: of its numbers only those of marks may name axes"
                raise BadInput(f"pictures[{number}]", what)
        marks_of(sweep, picture)
        _check_varying(sweep, picture, f"pictures[{number}]")
        _check_replicas(sweep, picture)
    _check_until(sweep)
    _check_claims(sweep)


def _check_texts(sweep: Sweep) -> None:
    """See that texts with expressions in them are the same at all points. Raises: BadInput."""
    first = dict(_texts(sweep.experiment))
    for point in sweep.points:
        for place, text in _texts(point.experiment):
            if text != first[place]:
                what = f"it says {quoted(text)} where {point.label}, and another number elsewhere"
                raise BadInput(place, f"{what}; name no axis in braces, and nothing that depends on one")


def _texts(experiment: Experiment) -> Iterator[tuple[str, str | None]]:
    """The texts of an experiment in which expressions may stand, by their place."""
    yield from (("title", experiment.title), ("story", experiment.story))
    for number, picture in enumerate(experiment.pictures):
        place = f"pictures[{number}]"
        yield f"{place}.title", picture.title
        yield from ((f"{place}.marks[{at}].name", mark.name) for at, mark in enumerate(picture.marks))
        yield from ((f"{place}.contours[{at}].name", one.name) for at, one in enumerate(picture.contours))
    yield from ((f"claims[{number}].text", claim.text) for number, claim in enumerate(experiment.claims))


def _check_until(sweep: Sweep) -> None:
    """See that something is read off along every axis that goes on only until then. Raises: BadInput."""
    readings = [picture.reading for picture in sweep.experiment.pictures]
    for number, axis in enumerate(sweep.axes):
        there = [how for how in readings if how is not None and how.over == axis.name]
        if axis.until is None or (there and all(how.is_threshold for how in there)):
            continue
        what = "the least, say, of all values is not known before the last" if there else "there is none"
        right = f"read = {{over = {axis.name!r}, first_below = …}}".replace("'", '"')
        raise BadInput(f"axes[{number}].until", f"it is for pictures with {right}, and {what}; leave it out")


def _check_varying(sweep: Sweep, picture: Picture, where: str) -> None:
    """See that no axis varies along a curve of a learner but those that are drawn or read off.

    Raises: BadInput.
    """
    named = names_in(picture.x) | (names_in(picture.y) if picture.y is not None else set())
    over = None if picture.reading is None else picture.reading.over
    for number, axis in enumerate(sweep.axes):
        if axis.name == over or not named.isdisjoint(axis.bound(axis.grid[0])):
            continue
        first: dict[tuple[str, tuple[int, ...]], int] = {}
        for point in (point for point in sweep.points if point.is_in(picture)):
            for learner in point.experiment.learners:
                key = learner.name, sweep.apart(picture, point)
                if first.setdefault(key, point.place[number]) != point.place[number]:
                    what = f"{axis.name} varies along a curve; name it in x, curves, at or read"
                    raise BadInput(where, what)


def _check_replicas(sweep: Sweep, picture: Picture) -> None:
    """See that a curve has equally many replicas at all of its points. Raises: BadInput."""
    counts: dict[tuple[int, ...], int] = {}
    for point in (point for point in sweep.points if point.is_in(picture)):
        replicas = point.experiment.run.replicas
        count = counts.setdefault(sweep.apart(picture, point), replicas)
        if replicas != count:
            counted = f"there are {replicas} where {point.label}, and {count} at another place of a curve"
            raise BadInput("run.replicas", f"{counted}; take the same number at every point")


def _check_claims(sweep: Sweep) -> None:
    """See that the numbers of each claim are the same along a curve. Raises: BadInput."""
    for number, claim in enumerate(sweep.claims):
        picture = picture_of(sweep.experiment, claim.picture)
        along: dict[tuple[int, ...], Claim] = {}
        for point in sweep.points:
            here = point.experiment.claims[number]
            if along.setdefault(sweep.apart(picture, point), here) != here:
                what = "its numbers are not the same along a curve; name axes in them that tell curves apart"
                raise BadInput(f"claims[{number}]", what)
