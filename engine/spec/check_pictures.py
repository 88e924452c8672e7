"""Whether pictures name what there is: axes, clocks, indices of their measures, learners, and lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from engine.core import catalogue
from engine.core.expressions import BadExpression, names_in
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.measures import measures_in, named
from engine.pictures.picture import RATE, Picture
from engine.protocols import CLOCKS
from engine.spec.axis import Axis
from engine.spec.experiment import Experiment
from engine.spec.recorded import missing

SIZES = ("n", "d")
"""What expressions of a picture may name beside dimensions."""


class Dimensions(NamedTuple):
    """What a measure has values along."""

    axes: dict[str, list[str]]
    """The names that each axis gives numbers to: its own, the columns of a table, or none if it has words."""

    clocks: list[str]
    indices: list[str]
    measures: list[str]
    """The names in x of measures that are recorded where the one of the picture is."""

    rates: list[str]
    """The name of the rates, where a learner tries several."""

    @property
    def of_axes(self) -> list[str]:
        """All names that axes give numbers to."""
        return [name for names in self.axes.values() for name in names]


def check_pictures(experiments: Sequence[Experiment], learners: Sequence[str]) -> None:
    """See that every picture of an experiment is of something that there is, of these learners.

    Args:
        experiments: as it is at the points of its axes at which its learners are; one where there are none.

    Raises: BadInput.
    """
    first, *_ = experiments
    for number, picture in enumerate(first.pictures):
        where = f"pictures[{number}]"
        if picture.name is not None and picture.name in [one.name for one in first.pictures[:number]]:
            raise BadInput(f"{where}.name", f"{picture.name!r} is taken by another picture")
        _check_measure(experiments, picture, learners, where)
        there = _dimensions(experiments, picture, learners, where)
        _check_dimensions(there, picture, where)
        _check_until(experiments, picture, there.clocks, where)
        _check_relative(picture, learners, where)
        for line in picture.lines or ():
            if catalogue.find("theory", line) is None:
                lines = listed(catalogue.members("theory"))
                raise BadInput(f"{where}.lines", f"there is no line {line!r} among {lines}")
        _check_contours(picture, where)
        _check_points(picture, where)


def _check_relative(picture: Picture, learners: Sequence[str], where: str) -> None:
    """See that curves are divided by what there is: a learner's curve, or a line of the measure.

    Raises: BadInput.
    """
    to = picture.relative
    if to is None:
        return
    if picture.y is not None:
        raise BadInput(f"{where}.relative", "a heat map cannot be relative to a curve; leave it out")
    if to in learners:
        return
    known = listed(map(repr, learners))
    if catalogue.find("theory", to) is None:
        raise BadInput(f"{where}.relative", f"there is no learner {to!r} among {known}, and no such line")
    line = catalogue.make("theory", to)
    if len(several := line.every()) > 1:
        what = f"it is {len(several)} lines, {listed(one.name for one in several)}"
        raise BadInput(f"{where}.relative", f"{what}; take one that is alone, or one of {known}")
    about = line.measure
    if about != picture.measure.name:
        what = f"it is a line about the {about}, and the picture is of the {picture.measure.name}"
        raise BadInput(f"{where}.relative", f"{what}; take another, or one of {known}")


def _check_points(picture: Picture, where: str) -> None:
    """See that examples are shown beside what is compared with labels, and nothing made of it.

    Raises: BadInput.
    """
    if picture.points is None:
        return
    if not picture.measure.structure().of_labels:
        what = f"examples are labels at their inputs, and {picture.measure.kind} is not such a function"
        raise BadInput(f"{where}.points", f"{what}; leave it out, or take measure function")
    for key in ("running", "times", "read", "relative", "share", "y"):
        if getattr(picture, key) is not None:
            what = f"labels are not on the scale that {key} makes"
            raise BadInput(f"{where}.points", f"{what}; leave one of them out")


def _check_contours(picture: Picture, where: str) -> None:
    """See that contours are of lines of the theory, and drawn over all that a map has. Raises: BadInput."""
    if picture.contours and picture.y is None:
        raise BadInput(f"{where}.contours", "contours are drawn on heat maps; give the picture a y")
    if picture.contours and picture.reading is not None and picture.reading.over != "record":
        over = picture.reading.over
        raise BadInput(f"{where}.contours", f"a line has other values along {over}, which is read off")
    for number, contour in enumerate(picture.contours):
        if catalogue.find("theory", contour.line) is None:
            what = f"there is no line {contour.line!r} among {listed(catalogue.members('theory'))}"
            raise BadInput(f"{where}.contours[{number}].line", what)


def _check_measure(
    experiments: Sequence[Experiment], picture: Picture, learners: Sequence[str], where: str
) -> None:
    there = [(one, learner) for one in experiments for learner in one.learners]
    reasons = [missing(picture.measure, one, learner) for one, learner in there]
    if all(reasons) and {learner.name for _, learner in there} >= set(learners):
        raise BadInput(f"{where}.measure", f"{picture.measure.kind} is measured only where {reasons[0]}")


def _dimensions(
    experiments: Sequence[Experiment], picture: Picture, learners: Sequence[str], where: str
) -> Dimensions:
    """What there is for a picture: all that there could be, if learners are at none of these points."""
    there = [(one, learner) for one in experiments for learner in one.learners]
    if {learner.name for _, learner in there} < set(learners):
        measured, clocks = there, list(CLOCKS)
    else:
        measured = [
            (one, learner) for one, learner in there if missing(picture.measure, one, learner) is None
        ]
        clocks = [clock for one, learner in measured for clock in one.protocol.measured_clocks(learner)]
    planned = [clock for one in experiments for clock in one.protocol.clocks(one.problem.matrix.shape()[0])]
    indices = [
        index.name for one, learner in measured for index in picture.measure.index(learner, one.problem)
    ]
    axes = {
        axis.name: [] if axis.has_words and not _names_places(picture, axis) else list(_names_of(axis))
        for axis in experiments[0].axes
    }
    several = any(isinstance(learner.rate_choice, tuple) for _, learner in there)
    rates = [RATE] if several else []
    named = [
        name
        for name, measure in measures_in(_named(picture, "x", where)).items()
        if any(missing(measure, one, learner) is None for one, learner in measured)
    ]
    return Dimensions(
        axes, list(dict.fromkeys([*planned, *clocks])), list(dict.fromkeys(indices)), named, rates
    )


def _names_places(picture: Picture, axis: Axis) -> bool:
    """Whether bars of a picture stand at the values of an axis."""
    return picture.draw == "bars" and picture.x == axis.name


def _names_of(axis: Axis) -> Collection[str]:
    """The names that an axis gives numbers to, or of words the one that says which of them it is."""
    return (axis.name,) if axis.has_words else axis.bound(axis.grid[0])


def _check_dimensions(there: Dimensions, picture: Picture, where: str) -> None:
    """See that what it draws along, sets, reads off and splits curves by are dimensions of the results."""
    along = [*there.of_axes, *there.clocks, *there.indices]
    for key in ("x", "y", "times"):
        _check_numbers(_named(picture, key, where), there, f"{where}.{key}")
    rates = [name for name in there.rates if name in _named(picture, "x", where)]
    by_measure = there.measures if picture.y is None else []
    _check_known(_named(picture, "x", where), [*along, *by_measure, *there.rates, *SIZES], f"{where}.x")
    if by_measure and picture.relative is not None:
        what = f"along {by_measure[0]} learners have no places in common"
        raise BadInput(f"{where}.relative", f"{what}; leave it out")
    _check_known(_named(picture, "times", where), [*along, *rates, *SIZES], f"{where}.times")
    up = _named(picture, "y", where)
    if made := [name for name in sorted(up) if name in there.clocks]:
        known = listed([*there.of_axes, *there.indices, *SIZES])
        raise BadInput(
            f"{where}.y", f"y is made of axes or an index, and {made[0]} is neither; it may name {known}"
        )
    _check_known(up, [*there.of_axes, *there.indices, *SIZES], f"{where}.y")
    _check_numbers(picture.at, there, f"{where}.at")
    _check_known(picture.split_by, list(there.axes), f"{where}.curves")
    _check_known(picture.at, along, f"{where}.at")
    if picture.draw == "bars" and (picture.y is not None or not _along_few(there, picture, where)):
        raise BadInput(
            f"{where}.draw", "bars stand at the values of an axis or index; name one in x, and no y"
        )
    if picture.reading is not None:
        _check_known(
            [picture.reading.over], ["record", *there.axes, *there.indices, *there.rates], f"{where}.read"
        )
    _check_what_is_left(there, picture, where)


def _along_few(there: Dimensions, picture: Picture, where: str) -> bool:
    """Whether x goes along few places: values of an axis, of an index or rates."""
    few = {*there.of_axes, *there.indices, *there.rates}
    named = _named(picture, "x", where)
    return bool(named & few) and named.isdisjoint([*there.clocks, *there.measures])


def _check_until(
    experiments: Sequence[Experiment], picture: Picture, clocks: Sequence[str], where: str
) -> None:
    """See that what ends the records that a picture reads is recorded. Raises: BadInput."""
    until = None if picture.reading is None else picture.reading.until
    if until is None:
        return
    if until.clock is not None:
        _check_known([until.clock], clocks, f"{where}.read.until")
        return
    measure = named()[str(until.measure)]
    reasons = [missing(measure, one, learner) for one in experiments for learner in one.learners]
    if all(reasons):
        raise BadInput(f"{where}.read.until", f"{until.measure} is measured only where {reasons[0]}")


def _check_numbers(names: Collection[str], there: Dimensions, where: str) -> None:
    """See that axes stand for numbers where these are needed. Raises: BadInput."""
    for name in names:
        if name in there.axes and name not in there.axes[name]:
            columns = listed(there.axes[name])
            right = f"name {columns}" if columns else "tell curves apart by it, with curves"
            raise BadInput(where, f"the values of {name} are {'tables' if columns else 'words'}; {right}")


def _check_what_is_left(there: Dimensions, picture: Picture, where: str) -> None:
    """See that x and y name nothing that is read off or set, and that all else is. Raises: BadInput."""
    over = None if picture.reading is None else picture.reading.over
    x = _named(picture, "x", where)
    clocks = [name for name in (*there.clocks, *there.measures) if name in x]
    if over == "record" and clocks:
        what = f"read takes one evaluation point of each run, so nothing is left along {clocks[0]}"
        raise BadInput(f"{where}.x", f"{what}; name an axis or an index, or leave out read")
    for key in ("x", "y"):
        named = _named(picture, key, where)
        if over is not None and not named.isdisjoint(there.axes.get(over, [over])):
            what = f"{over} is read off, so nothing is left along it"
            raise BadInput(f"{where}.{key}", f"{what}; name another dimension")
        for name in there.indices:
            if name in named and name in picture.at:
                raise BadInput(f"{where}.{key}", f"{name} is set by at; name another dimension")
    left = [name for name in there.indices if name not in picture.at and name != over]
    drawn = clocks[:1] if clocks else [name for name in left if name in x][:1]
    drawn += [name for name in left if name in _named(picture, "y", where) and name not in drawn][:1]
    if others := [name for name in left if name not in drawn]:
        what = f"{' and '.join(others)} of {picture.measure.kind} must be x, read off, or set by at"
        raise BadInput(where, what)
    if picture.y is not None and not drawn[1:] and not _named(picture, "y", where) & {*there.of_axes}:
        raise BadInput(
            f"{where}.y", "nothing varies along it; name an axis, or an index that x does not name"
        )


def _named(picture: Picture, key: str, where: str) -> set[str]:
    """The names in an expression of a picture. Raises: BadInput."""
    try:
        return names_in(getattr(picture, key) or "")
    except BadExpression as error:
        raise BadInput(f"{where}.{key}", str(error)) from error


def _check_known(names: Collection[str], known: Sequence[str], where: str) -> None:
    for name in names:
        if name not in known:
            why = ", as no learner lists rates, as in lr = [0.1, 0.2]" if name == RATE else ""
            raise BadInput(where, f"there is no {name!r}{why}; there are {listed(known) or 'none'}")
