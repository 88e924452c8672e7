"""Experiments: problem, protocol, learners, pictures and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import msgspec
from msgspec import Meta, structs

from engine.claims import Claim
from engine.core import catalogue
from engine.core.catalogue import MemberOf
from engine.core.parts import MOST_WORDS, SELDOM, Count
from engine.core.streams import Streams
from engine.learners.learner import Learner
from engine.losses import Loss
from engine.measures import Measure, named
from engine.pictures.picture import Picture
from engine.problems.problem import Problem
from engine.protocols import Protocol
from engine.spec.axis import Axis

if TYPE_CHECKING:
    BackendName = str
else:
    BackendName = Literal[("auto", *catalogue.file_names("engine.backends"))]


MOST_LEARNERS = 400
"""Largest number of learners: each is a curve and a table row, and all run side by side."""


MOST_MEASURES = 100
"""Largest number of measures that a run records besides those of pictures and claims."""


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the computation."""

    seed: Annotated[
        int, Meta(ge=0, lt=2**62, title="seed", description="number that determines all random draws")
    ] = 0
    streams: Annotated[
        Literal["named", "single"],
        Meta(
            title="streams",
            description="named: separate random numbers for every purpose; "
            "single: one default_rng(seed) for rows, then labels, then noise",
            extra=SELDOM,
        ),
    ] = "named"
    replicas: Annotated[
        Count,
        Meta(
            title="replicas",
            description="number of runs, with seeds seed, seed + 1, …; they are computed as one batch",
        ),
    ] = 1
    dtype: Annotated[
        Literal["float32", "float64"],
        Meta(title="dtype", description="type of the numbers in data and weights", extra=SELDOM),
    ] = "float32"
    device: Annotated[
        str,
        Meta(
            pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$",
            title="device",
            description="auto, cpu, cuda or cuda:1; auto takes a CUDA device if there is one",
            extra=SELDOM,
        ),
    ] = "auto"
    path: Annotated[
        BackendName,
        Meta(
            title="backend",
            description="backend that trains the learners; auto takes the fastest one for every learner",
            extra=SELDOM,
        ),
    ] = "auto"
    measures: Annotated[
        Annotated[tuple[MemberOf[Measure], ...], Meta(max_length=MOST_MEASURES)],
        Meta(
            title="measures",
            description="measures to record besides those of pictures and claims, such as `spectrum`",
            extra=SELDOM,
        ),
    ] = ()

    def random_streams(self) -> Streams:
        return Streams(range(self.seed, self.seed + self.replicas), self.streams == "single")


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that determines a run's results: problem, protocol, learners and run settings."""

    problem: Problem
    protocol: MemberOf[Protocol]
    learners: Annotated[tuple[Learner, ...], Meta(min_length=1, max_length=MOST_LEARNERS)]
    run: RunSettings = RunSettings()

    @property
    def dtype(self) -> Literal["float32", "float64"]:
        """Precision of the numbers: float64 if the protocol needs it, else the setting `run.dtype`."""
        return "float64" if self.protocol.schedule().in_double_precision else self.run.dtype

    @property
    def n(self) -> int:
        """Number of instances."""
        return self.problem.matrix.shape()[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.problem.matrix.shape()[1]

    @property
    def m(self) -> int:
        """Number of targets."""
        return self.problem.target.columns(self.problem.matrix)

    @property
    def loss(self) -> Loss:
        """Loss that the protocol names."""
        return cast("Loss", catalogue.make("losses", self.protocol.loss))


def missing(measure: Measure, setup: Setup, learner: Learner) -> str | None:
    """Return None if a measure can be computed for a learner; otherwise, a condition that is violated.

    The text completes the sentence "it is measured only where …".
    """
    if measure.needs().parameters and learner.architecture is None:
        return "the learner has an architecture, not a solver"
    return measure.refuses(learner, setup.problem)


def no_hessian(setup: Setup, learner: Learner) -> str | None:
    """Return None if the Hessian of a net's loss can be computed; otherwise, a condition that is violated."""
    loss, outputs = setup.loss, _output_count(learner)
    if not loss.joint or outputs == setup.m:
        return None
    return f'one net predicts all targets (for {loss.kind} loss), such as a dense net with outputs = "m"'


def _output_count(learner: Learner) -> int:
    return 1 if learner.architecture is None else learner.architecture.outputs


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
"""Headings under which presets are listed, in order."""

SUBJECTS: tuple[Subject, ...] = get_args(Subject)
"""Headings of the list of presets, in order."""


MOST_CLAIMS = 1000
"""Largest number of claims: each is a line of text to read."""

MOST_AXES = 4
"""Largest number of sweep axes: the label of a run names every axis, and must fit into a sentence."""

MOST_PICTURES = 20
"""Largest number of pictures: users choose one from a list."""


class Experiment(Setup, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An experiment: problem, protocol and learners, with pictures and claims about its outcome."""

    title: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    story: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    reason: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    """Why the curves are as they are. Each line is a short sentence, which charts may show by itself."""
    source: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    subject: Subject = "Other"
    axes: Annotated[tuple[Axis, ...], Meta(max_length=MOST_AXES)] = ()
    pictures: Annotated[tuple[Picture, ...], Meta(max_length=MOST_PICTURES)] = ()
    claims: Annotated[tuple[MemberOf[Claim], ...], Meta(max_length=MOST_CLAIMS)] = ()


RUN = "Average loss over all rows"
"""Title of the picture that shows a single run."""


def of_run(experiment: Experiment, measure: str = "loss", title: str = RUN) -> Picture:
    """Return the picture that shows a measure of a single run against the clock of the protocol."""
    return Picture(x=experiment.protocol.clock, measure=named()[measure], title=title)


def pictures_of(experiment: Experiment) -> tuple[Picture, ...]:
    """Return the pictures of an experiment, with a default if it lists none.

    The default is a picture of the loss, with a curve for every value of the sweep axes.
    """
    if experiment.pictures:
        return experiment.pictures
    curves = tuple(axis.name for axis in experiment.axes) or "learner"
    return (structs.replace(of_run(experiment, title=""), curves=curves),)


def drawn(experiment: Experiment) -> tuple[Picture, ...]:
    """Return the pictures of an experiment; none if it is a single run that lists no pictures.

    Such a run has only the default picture, which shows the loss against the clock.
    """
    return pictures_of(experiment) if experiment.axes or experiment.pictures else ()


def picture_of_claim(experiment: Experiment, claim: Claim) -> Picture:
    """Return the picture that a claim is about, showing the claim's measure. Raises: KeyError."""
    picture = picture_of(experiment, claim.picture)
    return picture if claim.measure is None else structs.replace(picture, measure=claim.measure)


def picture_of(experiment: Experiment, name: str | None) -> Picture:
    """Return the picture called `name`, or the first picture if `name` is None. Raises: KeyError."""
    pictures = pictures_of(experiment)
    if name is None:
        return pictures[0]
    for picture in pictures:
        if picture.name == name:
            return picture
    raise KeyError(name)
