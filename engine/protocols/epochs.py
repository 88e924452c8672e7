"""Several passes over a fixed training set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.parts import BadInput, Count, Values
from engine.protocols import Floats, Protocol
from engine.runtime.descent import begin
from engine.runtime.pieces import InPieces, learning
from engine.runtime.recorder import Block, Recorder
from engine.runtime.training_inputs import TrainingInputs


class Epochs(Protocol, frozen=True, tag="epochs"):
    """Passes over the first `train` rows, the average loss over all n rows after 0, 1, 2, … epochs.

    An epoch is one step along the mean gradient of all training rows; rules with a mini-batch size (sgd) take
    the rows in their order, so many at a time. Bounds are those for k = `train` examples.
    Source: theory.md §5.
    """

    clock: ClassVar[str] = "epoch"

    train: Annotated[
        Count | None, Meta(title="training rows", description="the first so many; none: half of them")
    ] = None
    epochs: Annotated[Count, Meta(title="epochs", description="passes over the training rows")] = 100

    @property
    def full_batch(self) -> bool:
        return True

    @property
    def single(self) -> bool:
        return False

    def check(self, n: int, labels: Values) -> None:
        if self.train is not None and self.train > n:
            raise BadInput("protocol.train", f"there are {n} rows; take at most {n}")

    def rows(self, n: int) -> int:
        """The number of training rows among n."""
        return self.train or max(1, n // 2)

    def last(self, n: int) -> int:
        return self.epochs

    def clocks(self, n: int) -> dict[str, Floats]:
        epochs = self.places(n)
        return {"epoch": epochs, "k": np.where(epochs > 0, float(self.rows(n)), 0.0)}

    def training_run(self, inputs: TrainingInputs) -> Passes:
        return Passes(self, inputs)


class Passes(InPieces):
    """A learner on its way through the epochs."""

    def __init__(self, protocol: Epochs, inputs: TrainingInputs) -> None:
        super().__init__()
        self.hypothesis = begin(inputs)
        learner, self._data = inputs.learner, inputs.data
        self._rows = protocol.rows(self._data.instances.n)
        self._solves = learner.solver is not None
        self._batch = (learner.update and learner.update.mini_batch) or self._rows
        self._last = protocol.epochs
        self._recorder = Recorder(inputs, self.hypothesis, protocol.epochs + 1)

    def pieces(self) -> Iterator[None]:
        for epoch in range(self._last + 1):
            if epoch == 1 or (epoch > 1 and not self._solves):
                for first in range(0, self._rows, self._batch):
                    if first > 0:
                        yield
                    some = slice(first, min(first + self._batch, self._rows))
                    examples = self._data.instances.at(some), self._data.labels[:, some]
                    yield from learning(self.hypothesis, *examples)
            self._recorder.take({"epoch": epoch, "k": self._rows if epoch else 0}, self._rows)
            yield

    def block(self) -> Block:
        return self._recorder.block()
