"""Protocols: in which order examples are shown, and when the loss is measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal
from typing import Protocol as Interface

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.catalogue import members
from engine.core.cost import Cost
from engine.core.parts import Part, Values
from engine.core.streams import Streams
from engine.measures import Measure
from engine.problems.data import Data
from engine.runtime.hypothesis import Predictor
from engine.runtime.recorder import Block

if TYPE_CHECKING:
    from engine.spec.learner import Learner

    LossKind = str
else:
    LossKind = Literal[tuple(members("losses"))]

Floats = NDArray[np.float64]
Measures = tuple[Measure, ...]

CLOCKS = {"k": "examples k", "epoch": "epochs"}
"""By what is told how far training has come, and how an x-axis says it."""


class TrainingRun(Interface):
    """One learner on its way through a protocol."""

    @property
    def hypothesis(self) -> Predictor:
        """What the learner predicts now."""

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Work for about as long as `records` records take; the records that were completed, maybe none.

        Where records take many updates each, so many updates are made, and a record is left unfinished.
        Records are the same wherever calls end.

        Args:
            seconds: after which no more work is begun, that of a single update or record.
        """


class Protocol(Part, frozen=True):
    """A way of training and of measuring, common to all learners of an experiment."""

    loss: Annotated[LossKind, Meta(title="loss", description="what a wrong prediction costs")] = "square"

    @property
    def single(self) -> bool:
        """Whether every gradient is that of a single example."""
        raise NotImplementedError

    def check(self, n: int, labels: Values) -> None:
        """See that it makes sense for n instances with such labels. Raises: BadInput."""

    @property
    def spacing(self) -> int:
        """The distance of one record to the next on the x-axis; the last may be closer."""
        return 1

    def last(self, n: int) -> int:
        """Where on the x-axis a course over n instances yields its last record; the first is at 0."""
        raise NotImplementedError

    def records(self, n: int) -> int:
        """How many records a course over n instances yields."""
        return -(-self.last(n) // self.spacing) + 1

    def nearest(self, x: int, n: int) -> int:
        """Where on the x-axis the record is that is nearest to x, of equally near ones the first."""
        last, before = self.last(n), x // self.spacing * self.spacing
        return min((min(before, last), min(before + self.spacing, last)), key=lambda at: abs(at - x))

    def grid(self, n: int) -> Floats:
        """Where on the x-axis a course over n instances yields its records."""
        last = self.last(n)
        return np.append(np.arange(0.0, last, self.spacing), float(last))

    def clocks(self, n: int) -> dict[str, Floats]:
        """What the clocks say at every record of a course over n instances, by their names in CLOCKS.

        The first is the clock of the x-axis; `k`, the number of examples seen, is always among them.
        """
        return {"k": self.grid(n)}

    def models(self, n: int) -> int:
        """How many models an architecture is trained as, side by side."""
        return 1

    def training_run(
        self, learner: Learner, data: Data, loss: Cost, streams: Streams, measures: Measures = ()
    ) -> TrainingRun:
        """The course of one learner from its start, with what is measured along it."""
        raise NotImplementedError

    @property
    def sweeps(self) -> bool:
        """Whether it has a way for learners that go through many examples at once, `swept`."""
        return False

    def swept(
        self, learner: Learner, data: Data, loss: Cost, streams: Streams, measures: Measures = ()
    ) -> TrainingRun:
        """The same course by a compiled loop."""
        raise NotImplementedError
