"""What is run: a problem, a protocol, and the learners that meet it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

import msgspec
from msgspec import Meta

from engine.core import catalogue
from engine.core.parts import SELDOM, Count
from engine.core.streams import Streams
from engine.learners.learner import Learner
from engine.losses import Loss
from engine.problems.problem import Problem

if TYPE_CHECKING:
    from engine.measures import Measure as AnyMeasure
    from engine.protocols import Protocol as AnyProtocol

    BackendName = str
else:
    AnyMeasure = catalogue.union("measures")
    AnyProtocol = catalogue.union("protocols")
    BackendName = Literal[("auto", *catalogue.file_names("engine.backends"))]


MOST_LEARNERS = 400
"""Learners of an experiment at most: each is a curve and a row of the table, and all run side by side."""


MOST_MEASURES = 100
"""Measures that a run records beside those of pictures and claims at most."""


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it is computed."""

    seed: Annotated[int, Meta(ge=0, lt=2**62, title="seed", description="all randomness comes from it")] = 0
    streams: Annotated[
        Literal["named", "single"],
        Meta(
            title="streams",
            description="of random numbers: for every purpose; or rows, labels, noise of default_rng(seed)",
            extra=SELDOM,
        ),
    ] = "named"
    replicas: Annotated[
        Count, Meta(title="replicas", description="runs with seeds seed, seed + 1, …, as one batch")
    ] = 1
    dtype: Annotated[
        Literal["float32", "float64"],
        Meta(title="dtype", description="numbers of data and weights", extra=SELDOM),
    ] = "float32"
    device: Annotated[
        str,
        Meta(
            pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$",
            title="device",
            description="auto, cpu, cuda or cuda:1; auto takes CUDA when there is one",
            extra=SELDOM,
        ),
    ] = "auto"
    path: Annotated[
        BackendName,
        Meta(
            title="backend",
            description="what computes it; auto takes the fastest for every learner",
            extra=SELDOM,
        ),
    ] = "auto"
    measures: Annotated[
        Annotated[tuple[AnyMeasure, ...], Meta(max_length=MOST_MEASURES)],
        Meta(
            title="measures",
            description='beside those of pictures and claims: spectrum, {kind = "loss", rows = "train"}',
            extra=SELDOM,
        ),
    ] = ()

    def random_streams(self) -> Streams:
        """Where all randomness comes from, for every replica."""
        return Streams(range(self.seed, self.seed + self.replicas), self.streams == "single")


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that decides what a run computes; what is looked at and claimed comes with the experiment."""

    problem: Problem
    protocol: AnyProtocol
    learners: Annotated[tuple[Learner, ...], Meta(min_length=1, max_length=MOST_LEARNERS)]
    run: Run = Run()

    @property
    def dtype(self) -> Literal["float32", "float64"]:
        """The numbers that it is computed with: those that the run requests, unless its protocol needs double
        precision."""
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
