"""No training: what learners are at their start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.core.cost import Cost
from engine.core.streams import Streams
from engine.problems.data import Data
from engine.protocols import Floats, Measures, Protocol
from engine.runtime.descent import begin
from engine.runtime.pieces import InPieces, learning
from engine.runtime.recorder import Block, Recorder

if TYPE_CHECKING:
    from engine.spec.learner import Learner


class AtInit(Protocol, frozen=True, tag="at-init"):
    """No steps: everything is measured once, at the start, and solvers are fitted to all n rows.

    The training loss of a learner is that over all rows. An update rule is not needed. Bounds are those for
    k = n, for solvers know all examples. Source: theory-nets.md §§0, 24.
    """

    clock: ClassVar[str] = "step"

    experimental: ClassVar[bool] = True

    @property
    def single(self) -> bool:
        return True

    @property
    def trains(self) -> bool:
        return False

    def last(self, n: int) -> int:
        return 0

    def clocks(self, n: int) -> dict[str, Floats]:
        return {"step": self.places(n), "k": self.places(n)}

    def examples_seen(self, n: int) -> Floats:
        return np.array([float(n)])

    def training_run(
        self, learner: Learner, data: Data, loss: Cost, streams: Streams, measures: Measures = ()
    ) -> Start:
        return Start(learner, data, loss, streams, measures)


class Start(InPieces):
    """A learner that stays as it starts."""

    def __init__(
        self, learner: Learner, data: Data, loss: Cost, streams: Streams, measures: Measures
    ) -> None:
        super().__init__()
        self.hypothesis = begin(learner, loss, data, streams)
        self._solves, self._data = learner.solver is not None, data
        self._recorder = Recorder(data, loss, self.hypothesis, 1, measures)

    def pieces(self) -> Iterator[None]:
        if self._solves:
            yield from learning(self.hypothesis, self._data.instances, self._data.labels)
        self._recorder.take({"step": 0, "k": 0}, self._data.instances.n)
        yield

    def block(self) -> Block:
        return self._recorder.block()
