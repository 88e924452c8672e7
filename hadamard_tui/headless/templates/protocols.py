"""A protocol of my own. `hadamard-tui parts check FILE.py` checks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from engine.protocols import Protocol
from engine.training.descent import TrainingInputs, begin
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, learning


class MyPart(Protocol, frozen=True, tag="my-part"):
    """One pass over all rows, with several updates per example. Source: none needed."""

    times: Annotated[int, Meta(ge=1, le=1000, title="times", description="number of updates per example")] = 2

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> Repeating:
        # Fast backends pass `begin` to protocols that declare an `online` schedule; this one declares none.
        return Repeating(self.times, inputs)


class Repeating(InPieces):
    """Training run of a learner, with a record at the start and after each example."""

    def __init__(self, times: int, inputs: TrainingInputs) -> None:
        super().__init__()
        self._times, self._data = times, inputs.data
        self._records = inputs.data.instances.n + 1
        self.hypothesis = begin(inputs)
        self._recorder = Recorder(inputs, self.hypothesis, self._records)

    def pieces(self) -> Iterator[None]:
        """Train piece by piece; between two pieces, the program can pause or stop the run."""
        for k in range(self._records):
            if k > 0:
                example = slice(k - 1, k)
                for _ in range(self._times):
                    instance, label = self._data.instances.at(example), self._data.labels[:, example]
                    yield from learning(self.hypothesis, instance, label)
            self._recorder.take({"k": k}, k)
            yield

    def block(self) -> Block:
        """Return the records since the last call."""
        return self._recorder.block()
