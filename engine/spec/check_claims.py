"""Whether claims speak of what there is: pictures, curves, lines of the theory, and places with records."""

from __future__ import annotations

from collections.abc import Sequence

from engine.claims import Claim
from engine.core import catalogue
from engine.core.parts import BadInput
from engine.core.texts import listed
from engine.runtime.asked import missing
from engine.spec.experiment import Experiment
from engine.spec.pictures import picture_of, pictures_of


def check_claims(experiment: Experiment, learners: Sequence[str]) -> None:
    """See that every claim names a picture, curves of these learners, and lines that there are.

    Raises: BadInput.
    """
    for number, claim in enumerate(experiment.claims):
        where = f"claims[{number}]"
        try:
            picture_of(experiment, claim.picture)
        except KeyError:
            known = listed(repr(one.name) for one in pictures_of(experiment) if one.name) or "none"
            what = f"there is no picture {claim.picture!r}; those with a name are {known}"
            raise BadInput(f"{where}.picture", what) from None
        _check_names(claim, where, learners, bool(experiment.axes))


def check_places(experiment: Experiment) -> None:
    """See that every claim of a run speaks of what it measures, and of a record that there is.

    Raises: BadInput.
    """
    n, _ = experiment.problem.matrix.shape()
    protocol = experiment.protocol
    clock, last = "" if experiment.pictures else protocol.clock, protocol.last(n)
    for number, claim in enumerate(experiment.claims):
        where, at = f"claims[{number}]", getattr(claim, "at", None)
        if at is not None and clock:
            if at > last:
                raise BadInput(f"{where}.at", f"{at:.10g} is past the end, {clock} = {last:.10g}")
            if (near := protocol.nearest(max(0.0, at), n)) != at:
                raise BadInput(f"{where}.at", f"there is no record at {at:.10g}; take {near:.10g}")
        measure = claim.measure
        spoken_of = [one for one in experiment.learners if claim.curve in (None, one.name)]
        if measure is not None and spoken_of and (lack := missing(measure, experiment, spoken_of[0])):
            raise BadInput(where, f"{measure.name} is measured only where {lack}")


def _check_names(claim: Claim, where: str, learners: Sequence[str], apart: bool) -> None:
    """See that what a claim calls curves and lines are such. Curves told apart by axes have longer names."""
    lines = catalogue.members("theory")
    for field in dict.fromkeys((*claim.curve_fields, *claim.line_fields)):
        name = getattr(claim, field)
        if name is None:
            continue
        curve = any(name == one or (apart and name.startswith(f"{one}, ")) for one in learners)
        curve = curve and (field == "curve" or name != claim.curve)
        if (field in claim.curve_fields and curve) or (field in claim.line_fields and name in lines):
            continue
        if field == "curve":
            known = f"there is no {name!r} among {listed(map(repr, learners))}"
        elif field in claim.curve_fields:
            others = listed(repr(one) for one in learners if one != claim.curve)
            known = f"there is no {name!r} among the other learners, {others}"
            known += f", and the lines {listed(lines)}" if field in claim.line_fields else ""
        else:
            known = f"there is no bound {name!r} among {listed(lines)}"
        raise BadInput(f"{where}.{field}", known)
