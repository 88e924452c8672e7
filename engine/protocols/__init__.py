"""Protocols: in which order examples are shown, and when the loss is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from typing import Protocol as Interface

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.catalogue import members
from engine.hypothesis import Hypothesis
from engine.losses import Loss
from engine.parts import Part
from engine.problems.data import Data

if TYPE_CHECKING:
    LossKind = str
else:
    LossKind = Literal[tuple(members("losses"))]


class Block(NamedTuple):
    """A few consecutive records of a learner."""

    x: NDArray[np.float64]
    """Where on the x-axis the records lie, [S]."""

    loss: NDArray[np.float64]
    """Average loss per record and replica, [S, R]."""

    weights: NDArray[np.floating[Any]] | None
    """The weight vector of the first replica and target per record, [S, d], if predictions are linear."""

    def first(self, records: int) -> Block:
        """The first `records` records of the block."""
        weights = None if self.weights is None else self.weights[:records]
        return Block(self.x[:records], self.loss[:records], weights)


class Course(Interface):
    """One learner on its way through a protocol."""

    def advance(self, records: int) -> Block:
        """Go on for at most `records` records; an empty block at the end."""


class Protocol(Part, frozen=True):
    """A way of training and of measuring, common to all learners of an experiment."""

    loss: Annotated[LossKind, Meta(title="loss", description="what a wrong prediction costs")] = "square"

    @property
    def single(self) -> bool:
        """Whether every gradient is that of a single example."""
        raise NotImplementedError

    def records(self, n: int) -> int:
        """How many records a course over n instances yields."""
        raise NotImplementedError

    def course(self, hypothesis: Hypothesis, data: Data, loss: Loss) -> Course:
        """The course of one learner from its start."""
        raise NotImplementedError
