"""Marks of pictures: straight lines, and of expressions of axes one for every curve, or a line along axes."""

from __future__ import annotations

from collections import defaultdict

from engine.core.expressions import BadExpression, evaluate, names_in, values_written
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.pictures.picture import Mark, Marked, Picture
from engine.spec.axis import Axis
from engine.spec.sweep import Point, Sweep


def marks_of(sweep: Sweep, picture: Picture) -> list[Marked]:
    """The marks of a picture with the values that they have at the points of its axes.

    Raises: BadInput for one that has several values where a straight line or a curve has one.
    """
    pictures = sweep.experiment.pictures
    number = next((number for number, one in enumerate(pictures) if one == picture), None)
    found: list[Marked] = []
    for place, mark in enumerate(picture.marks):
        if number is None:  # not one of the experiment, so nothing of it depends on axes
            found.append(_straight(mark.title, mark))
            continue
        points = [point for point in sweep.points if point.is_in(picture)]
        pairs = [(point, point.experiment.pictures[number].marks[place]) for point in points]
        found += _along(sweep, picture, pairs, f"pictures[{number}].marks[{place}]")
    return found


def _along(sweep: Sweep, picture: Picture, pairs: list[tuple[Point, Mark]], where: str) -> list[Marked]:
    """A mark at all points."""
    if len({mark for _, mark in pairs}) <= 1:
        return [_straight(mark.title, mark) for _, mark in pairs[:1]]
    apart: dict[tuple[int, ...], list[tuple[Point, Mark]]] = defaultdict(list)
    for point, mark in pairs:
        apart[sweep.apart(picture, point)].append((point, mark))
    found = []
    for group, own in apart.items():
        (_, mark), *others = own
        if all(other == mark for _, other in others):
            one = _straight(mark.title, mark)
        else:
            one = _curve(sweep, picture, mark.name or "mark", own, where)
        values = sweep.name("", picture, group)
        found.append(one._replace(name=one.kind + values_written(values, sweep.symbols), apart=group))
    return found


def _straight(title: str, mark: Mark) -> Marked:
    return Marked(title, () if mark.x is None else (mark.x,), () if mark.y is None else (mark.y,), title)


def _curve(sweep: Sweep, picture: Picture, name: str, own: list[tuple[Point, Mark]], where: str) -> Marked:
    """A mark at y along the axes that x names, or one at x along those that y does. Raises: BadInput."""
    at_y = own[0][1].x is None
    along = picture.x if at_y else picture.y
    values: dict[float, float] = {}
    for point, mark in own:
        value = mark.y if at_y else mark.x
        assert value is not None, "a mark is at x or at y, the same at every point"
        try:
            at = None if along is None else evaluate(along, point.numbers)
        except BadExpression:  # along goes a clock, or an index
            at = None
        if at is None or values.setdefault(at, value) != value:
            raise BadInput(where, _several(sweep.axes, picture, name, at_y))
    places = tuple(sorted(values))
    others = tuple(values[place] for place in places)
    return Marked(name, places, others, name) if at_y else Marked(name, others, places, name)


def _several(axes: tuple[Axis, ...], picture: Picture, name: str, at_y: bool) -> str:
    """What is wrong with a mark that has several values where one is drawn, and what it may name."""
    named = names_in((picture.x if at_y else picture.y) or "")
    bound = {axis.name: axis.bound(axis.grid[0]) for axis in axes}
    along = [one for names in bound.values() for one in names if one in named]
    apart = [one for axis in picture.split_by for one in bound[axis]]
    allowed = listed(dict.fromkeys([*along, *apart]))
    right = f"name no axes but {allowed}" if allowed else "name no axes"
    return f"{name!r} is not at one place, for its expression has other values at other points; {right}"
