"""Whether claims speak of what there is: pictures, curves, lines of the theory, and places with records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from engine.claims import Claim
from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.pictures.picture import Picture
from engine.pictures.view import NEAR
from engine.protocols import nearest
from engine.spec.axis import Axis
from engine.spec.experiment import Experiment
from engine.spec.pictures import picture_of, pictures_of
from engine.spec.recorded import missing

MOST_NAMED = 9
"""Of an axis with more values not all are named."""


class BadClaims(BadInput):
    """The refusal of the first of several claims; `others` are those of the next."""

    def __init__(self, first: BadInput, others: Sequence[BadInput]) -> None:
        super().__init__(first.where, first.what)
        self.others = tuple(others)


def check_claims(experiment: Experiment, learners: Sequence[str]) -> None:
    """See that every claim names a picture, curves of these learners, and lines that there are, and speaks of
    what is measured.

    Raises: BadClaims.
    """
    refused = []
    for number, claim in enumerate(experiment.claims):
        try:
            _check(experiment, claim, f"claims[{number}]", learners)
        except BadInput as error:
            refused.append(error)
    refused += _repeated_headlines(experiment)
    if refused:
        raise BadClaims(refused[0], refused[1:])


def _repeated_headlines(experiment: Experiment) -> list[BadInput]:
    """Refusals of all headlines of a picture but the first."""
    first: dict[tuple[str | None, str], int] = {}
    refused = []
    for number, claim in enumerate(experiment.claims):
        if claim.headline:
            measure = "" if claim.measure is None else claim.measure.name
            before = first.setdefault((claim.picture, measure), number)
            if before != number:
                what = f"the picture has a headline, claims[{before}]; keep one of them"
                refused.append(BadInput(f"claims[{number}].headline", what))
    return refused


def _check(experiment: Experiment, claim: Claim, where: str, learners: Sequence[str]) -> None:
    """The same of one claim. Raises: BadInput."""
    try:
        picture = picture_of(experiment, claim.picture)
    except KeyError:
        known = listed(repr(one.name) for one in pictures_of(experiment) if one.name) or "none"
        what = f"there is no picture {claim.picture!r}; those with a name are {known}"
        raise BadInput(f"{where}.picture", what) from None
    _check_picture(claim, picture, where)
    _check_names(claim, where, learners, bool(experiment.axes))
    if experiment.axes:
        _check_values(experiment, claim, picture, where, learners)
    spoken_of = [one for one in experiment.learners if claim.curve in (None, one.name)]
    measure = claim.measure
    if measure is not None and spoken_of and (lack := missing(measure, experiment, spoken_of[0])):
        raise BadInput(where, f"{measure.name} is measured only where {lack}")


def _check_picture(claim: Claim, picture: Picture, where: str) -> None:
    """See that a claim about a heat map speaks of one, and of a contour that it has. Raises: BadInput."""
    if claim.of_map and picture.y is None:
        raise BadInput(f"{where}.picture", f"{claim.kind} is about heat maps; name a picture with a y")
    if not claim.of_map and picture.y is not None:
        raise BadInput(f"{where}.picture", f"{claim.kind} is about curves; name a picture without a y")
    named = getattr(claim, "contour", None)
    if named is not None and named not in (known := [one.line for one in picture.contours]):
        there = listed(known) or "none"
        raise BadInput(f"{where}.contour", f"the picture has no contour of {named!r}; there are {there}")


def check_places(experiment: Experiment) -> None:
    """See that every claim of a run speaks of a record that there is.

    Raises: BadInput.
    """
    n = experiment.n
    protocol = experiment.protocol
    clock, last = "" if experiment.pictures else protocol.clock, protocol.extent(n).last
    for number, claim in enumerate(experiment.claims):
        where, at = f"claims[{number}]", getattr(claim, "at", None)
        if at is not None and clock:
            if at > last:
                raise BadInput(f"{where}.at", f"{at:.10g} is past the end, {clock} = {last:.10g}")
            if (near := nearest(protocol, max(0.0, at), n)) != at:
                raise BadInput(f"{where}.at", f"there is no evaluation point at {at:.10g}; take {near:.10g}")


def _check_values(
    experiment: Experiment, claim: Claim, picture: Picture, where: str, learners: Sequence[str]
) -> None:
    """See that a claim speaks of values that the axes have. Raises: BadInput."""
    axes = {axis.name: axis for axis in experiment.axes}
    at = getattr(claim, "at", None)
    if at is not None and (axis := axes.get(picture.x)) is not None:
        values = [value for value in axis.grid if isinstance(value, int | float)]
        if values and not any(abs(value - at) <= NEAR * abs(at) for value in values):
            raise BadInput(f"{where}.at", f"there is no {axis.name} = {at:g}; {_values(axis)}")
    apart = [axes[name] for name in picture.split_by]
    labels = (map(axis.label, axis.grid) for axis in apart)
    ends = [", ".join(each) for each in product(*labels)] if apart else []
    curves = {*learners, *(f"{learner}, {label}" for learner in learners for label in ends)}
    for field in claim.curve_fields:
        name = str(getattr(claim, field))
        if name not in curves and any(name.startswith(f"{learner}, ") for learner in learners):
            known = "; ".join(map(_values, apart)) or "the picture has one curve per learner"
            raise BadInput(f"{where}.{field}", f"there is no curve {name!r}; {known}")


def _values(axis: Axis) -> str:
    """The values of an axis in words."""
    few = axis.grid if len(axis.grid) <= MOST_NAMED else (*axis.grid[:2], "…", axis.grid[-1])
    return f"{axis.name} is {', '.join(f'{one:g}' if isinstance(one, float) else str(one) for one in few)}"


def _check_names(claim: Claim, where: str, learners: Sequence[str], apart: bool) -> None:
    """See that what a claim calls curves and lines are such. Curves split by axes have longer names."""
    for field in dict.fromkeys((*claim.curve_fields, *claim.line_fields)):
        name = getattr(claim, field)
        if name is None:
            continue
        curve = any(name == one or (apart and name.startswith(f"{one}, ")) for one in learners)
        curve = curve and (field == "curve" or name != claim.curve)
        if field in claim.curve_fields and curve:
            continue
        if field in claim.line_fields and catalogue.find("theory", name) is not None:
            continue
        lines = catalogue.members("theory")
        if field == "curve":
            known = f"there is no {name!r} among {listed(map(repr, learners))}"
        elif field in claim.curve_fields:
            others = listed(repr(one) for one in learners if one != claim.curve)
            known = f"there is no {name!r} among the other learners, {others}"
            known += f", and the lines {listed(lines)}" if field in claim.line_fields else ""
        else:
            known = f"there is no bound {name!r} among {listed(lines)}"
        raise BadInput(f"{where}.{field}", known)
