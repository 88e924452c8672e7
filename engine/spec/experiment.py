"""The typed description of an experiment, which is the format of preset files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, get_args

from msgspec import Meta

from engine.core import catalogue
from engine.core.parts import MOST_WORDS
from engine.pictures.picture import Picture
from engine.spec.axis import Axis
from engine.spec.setup import Setup

Subject = Literal[
    "Hadamard matrices",
    "Rotation invariance",
    "Multiplicative updates and sparse nets",
    "Random instances",
    "Many targets and rank",
    "Losses and labels",
    "Examples needed",
    "Implicit bias",
    "Wide and deep nets",
    "Parities",
    "Large steps",
    "Data and classes",
    "Open problems",
    "Other",
]
"""The headings under which presets are listed, in their order."""

SUBJECTS: tuple[Subject, ...] = get_args(Subject)


if TYPE_CHECKING:
    from engine.claims import Claim as AnyClaim
else:
    AnyClaim = catalogue.union("claims")

MOST_CLAIMS = 1000
"""Claims of an experiment at most: each is a line that somebody reads."""

MOST_AXES = 4
"""Axes of an experiment at most: what differs between its runs must fit into a sentence."""

MOST_PICTURES = 20
"""Pictures of an experiment at most: each has a place in a list that somebody chooses from."""


class Experiment(Setup, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A problem, a protocol, the learners that meet it, and what is claimed of the outcome."""

    title: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    story: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    source: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    subject: Subject = "Other"
    axes: Annotated[tuple[Axis, ...], Meta(max_length=MOST_AXES)] = ()
    pictures: Annotated[tuple[Picture, ...], Meta(max_length=MOST_PICTURES)] = ()
    claims: Annotated[tuple[AnyClaim, ...], Meta(max_length=MOST_CLAIMS)] = ()
