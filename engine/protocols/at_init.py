"""Protocol without training, which measures learners at their start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.protocols import Extent, Floats, Protocol, ProtocolSchedule, places
from engine.training.descent import TrainingInputs, begin
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, learning

if TYPE_CHECKING:
    from engine.core.streams import Streams


class AtInit(Protocol, frozen=True, tag="at-init"):
    """No training steps: all measures are taken once, at the start. Solvers are fitted to all n rows.

    The training loss is the loss over all rows. Learners need no update rule. Bounds count all n rows as seen
    examples, k = n. Source: theory/wide-nets#conventions-of-the-lectures, theory/wide-nets#criticality.
    """

    clock: ClassVar[str] = "step"

    def schedule(self) -> ProtocolSchedule:
        return ProtocolSchedule(single=True, in_data_order=True, stops_blindly=True, trains=False)

    def departure_from_k_rows(self, measure: str) -> None:
        return None

    def extent(self, n: int) -> Extent:
        return Extent(last=0, records=1, rows=n, most_examples=n, examples_given=n)

    def clocks(self, n: int) -> dict[str, Floats]:
        return {"step": places(self, n), "k": places(self, n)}

    def examples_seen(self, n: int) -> Floats:
        return np.array([float(n)])

    def rows_seen(self, n: int, k: int, streams: Streams, solver: bool = False) -> NDArray[np.bool_]:
        return np.full(n, solver) if solver else super().rows_seen(n, k, streams)

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> Start:
        return Start(inputs)


class Start(InPieces):
    """Run of a learner that is not trained. All measures are taken at its start."""

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
