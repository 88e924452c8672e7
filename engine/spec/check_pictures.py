"""Whether pictures name what there is: axes, clocks, indices of their measures, learners, and lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.protocols import CLOCKS
from engine.runtime.asked import missing
from engine.spec.experiment import Experiment
from engine.spec.expressions import BadExpression, names_in
from engine.spec.picture import Picture


def check_pictures(experiment: Experiment, learners: Sequence[str]) -> None:
    """See that every picture is of something that there is, of these learners. Raises: BadInput."""
    for number, picture in enumerate(experiment.pictures):
        where = f"pictures[{number}]"
        if picture.name is not None and picture.name in [one.name for one in experiment.pictures[:number]]:
            raise BadInput(f"{where}.name", f"{picture.name!r} is taken by another picture")
        _check_measure(experiment, picture, where)
        _check_dimensions(experiment, picture, where)
        if picture.relative is not None and picture.relative not in learners:
            known = listed(map(repr, learners))
            raise BadInput(f"{where}.relative", f"there is no learner {picture.relative!r} among {known}")
        lines = catalogue.members("theory")
        for line in picture.lines or ():
            if line not in lines:
                raise BadInput(f"{where}.lines", f"there is no line {line!r} among {listed(lines)}")
        _check_contours(picture, where)


def _check_contours(picture: Picture, where: str) -> None:
    """See that contours are of lines of the theory, and drawn over all that a map has. Raises: BadInput."""
    lines = catalogue.members("theory")
    if picture.contours and picture.y is None:
        raise BadInput(f"{where}.contours", "contours are drawn on heat maps; give the picture a y")
    if picture.contours and picture.reading is not None and picture.reading.over != "record":
        over = picture.reading.over
        raise BadInput(f"{where}.contours", f"a line has other values along {over}, which is read off")
    for number, contour in enumerate(picture.contours):
        if contour.line not in lines:
            what = f"there is no line {contour.line!r} among {listed(lines)}"
            raise BadInput(f"{where}.contours[{number}].line", what)


def _check_measure(experiment: Experiment, picture: Picture, where: str) -> None:
    reasons = [missing(picture.measure, experiment, learner) for learner in experiment.learners]
    if all(reasons):
        raise BadInput(f"{where}.measure", f"{picture.measure.kind} is measured only where {reasons[0]}")


def _check_dimensions(experiment: Experiment, picture: Picture, where: str) -> None:
    """See that what it draws along, sets, reads off and tells apart are dimensions of the results."""
    axes = [axis.name for axis in experiment.axes]
    columns = [name for axis in experiment.axes for name in axis.bound(axis.grid[0])]
    indices = [
        index.name
        for learner in experiment.learners
        if missing(picture.measure, experiment, learner) is None
        for index in picture.measure.index(learner, experiment.problem)
    ]
    along = dict.fromkeys([*axes, *columns, *CLOCKS, *indices])
    for key in ("x", "y", "times"):
        try:
            named = names_in(getattr(picture, key) or "")
        except BadExpression as error:
            raise BadInput(f"{where}.{key}", str(error)) from error
        _check_known(named, [*along, "n", "d"], f"{where}.{key}")
    _check_known(picture.told_apart, axes, f"{where}.curves")
    _check_known(picture.at, list(along), f"{where}.at")
    if picture.reading is not None:
        over = ["record", *dict.fromkeys([*axes, *indices])]
        _check_known([picture.reading.over], over, f"{where}.read")


def _check_known(names: Collection[str], known: Sequence[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise BadInput(where, f"there is no {name!r}; there are {listed(known) or 'none'}")
