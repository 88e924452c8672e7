"""Which pictures an experiment has."""

from __future__ import annotations

from msgspec import structs

from engine.claims import Claim
from engine.measures import named
from engine.pictures.picture import Picture
from engine.spec.experiment import Experiment

RUN = "Average loss over all rows"
"""The title of the picture of a run."""


def of_run(experiment: Experiment, measure: str = "loss", title: str = RUN) -> Picture:
    """The picture of a single run: a measure against the clock of its protocol."""
    return Picture(x=experiment.protocol.clock, measure=named()[measure], title=title)


def pictures_of(experiment: Experiment) -> tuple[Picture, ...]:
    """The pictures of an experiment; where it has none, the loss against the clock of its protocol, with a
    curve for every value of the axes."""
    if experiment.pictures:
        return experiment.pictures
    curves = tuple(axis.name for axis in experiment.axes) or "learner"
    return (structs.replace(of_run(experiment, title=""), curves=curves),)


def drawn(experiment: Experiment) -> tuple[Picture, ...]:
    """The pictures beside that of the run as it goes on, which is enough where there is one run."""
    return pictures_of(experiment) if experiment.axes or experiment.pictures else ()


def picture_of_claim(experiment: Experiment, claim: Claim) -> Picture:
    """The picture that a claim is judged by, with the measure of the claim. Raises: KeyError."""
    picture = picture_of(experiment, claim.picture)
    return picture if claim.measure is None else structs.replace(picture, measure=claim.measure)


def picture_of(experiment: Experiment, name: str | None) -> Picture:
    """The picture of a name, or without one the first. Raises: KeyError."""
    pictures = pictures_of(experiment)
    if name is None:
        return pictures[0]
    for picture in pictures:
        if picture.name == name:
            return picture
    raise KeyError(name)
