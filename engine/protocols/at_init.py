"""No training: what learners are at their start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.protocols import Floats, Protocol
from engine.training.descent import begin
from engine.training.pieces import InPieces, learning
from engine.training.recorder import Block, Recorder
from engine.training.training_inputs import TrainingInputs

if TYPE_CHECKING:
    from engine.core.streams import Streams


class AtInit(Protocol, frozen=True, tag="at-init"):
    """No steps: everything is measured once, at the start, and solvers are fitted to all n rows.

    The training loss of a learner is that over all rows. An update rule is not needed. Bounds are those for
    k = n, for solvers know all examples. Source: theory-nets.md §§0, 24.
    """

    clock: ClassVar[str] = "step"

    @property
    def single(self) -> bool:
        return True

    @property
    def in_data_order(self) -> bool:
        return True

    @property
    def stops_blindly(self) -> bool:
        return True

    @property
    def trains(self) -> bool:
        return False

    def departure_from_k_rows(self, measure: str) -> None:
        return None

    def last(self, n: int) -> int:
        return 0

    def clocks(self, n: int) -> dict[str, Floats]:
        return {"step": self.places(n), "k": self.places(n)}

    def examples_seen(self, n: int) -> Floats:
        return np.array([float(n)])

    def most_examples(self, n: int) -> int:
        return n

    def rows_given(self, n: int, k: int, streams: Streams) -> NDArray[np.bool_]:
        return np.ones(n, bool)

    def training_run(self, inputs: TrainingInputs) -> Start:
        return Start(inputs)


class Start(InPieces):
    """A learner that stays as it starts."""

    def __init__(self, inputs: TrainingInputs) -> None:
        super().__init__()
        self.hypothesis = begin(inputs)
        self._solves, self._data = inputs.learner.solver is not None, inputs.data
        self._recorder = Recorder(inputs, self.hypothesis, 1)

    def pieces(self) -> Iterator[None]:
        if self._solves:
            yield from learning(self.hypothesis, self._data.instances, self._data.labels)
        self._recorder.take({"step": 0, "k": 0}, self._data.instances.n)
        yield

    def block(self) -> Block:
        return self._recorder.block()
