"""Protocol with several passes over a fixed training set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.memory import Sizes
from engine.core.parts import BadInput, Count, Values
from engine.problems.instances import Instances
from engine.protocols import Extent, Floats, Protocol, ProtocolSchedule, bytes_of_rows, places
from engine.training.descent import TrainingInputs, begin
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, learning


class Epochs(Protocol, frozen=True, tag="epochs"):
    """Passes over the first `train` rows. After each pass, the average loss over all n rows is measured.

    There are records after 0, 1, 2, … epochs. An epoch is one step along the mean gradient of all training
    rows. For update rules with a mini-batch size (sgd), an epoch is one step for each mini-batch.
    Mini-batches take the rows in stored order or, with `reshuffle`, in a new random order for every epoch.
    Each replica draws its own orders, which all rates and targets of the replica share. Bounds use k =
    `train` examples. Source: theory/conventions#protocols.
    """

    clock: ClassVar[str] = "epoch"

    train: Annotated[
        Count | None,
        Meta(
            title="training rows",
            description="number of training rows, which are the first rows; none: half of the rows",
        ),
    ] = None
    epochs: Annotated[Count, Meta(title="epochs", description="number of passes over the training rows")] = (
        100
    )
    reshuffle: Annotated[bool, Meta(title="reshuffle", description="shuffle the rows before every pass")] = (
        False
    )

    def schedule(self) -> ProtocolSchedule:
        return ProtocolSchedule(full_batch=True, in_data_order=True, stops_blindly=True)

    def departure_from_k_rows(self, measure: str) -> None:
        return None

    def check(self, n: int, labels: Values) -> None:
        if self.train is not None and self.train > n:
            raise BadInput("protocol.train", f"there are only {n} rows; take at most {n}")

    def rows(self, n: int) -> int:
        """Return the number of training rows, if the data have n rows."""
        return self.train or max(1, n // 2)

    def extent(self, n: int) -> Extent:
        rows = self.rows(n)
        return Extent(self.epochs, self.epochs + 1, rows, most_examples=rows, examples_given=rows)

    def bytes_held(self, sizes: Sizes) -> int:
        return bytes_of_rows(self.rows(sizes.n) if self.reshuffle else 0, sizes)

    def clocks(self, n: int) -> dict[str, Floats]:
        epochs = places(self, n)
        return {"epoch": epochs, "k": np.where(epochs > 0, float(self.rows(n)), 0.0)}

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> Passes:
        return Passes(self, inputs)


class Passes(InPieces):
    """Training run of a learner over several epochs."""

    def __init__(self, protocol: Epochs, inputs: TrainingInputs) -> None:
        super().__init__()
        self.hypothesis = begin(inputs)
        learner, self._data = inputs.learner, inputs.data
        self._rows = protocol.rows(self._data.instances.n)
        self._solves = learner.solver is not None
        self._batch = (learner.update and learner.update.structure().mini_batch) or self._rows
        self._last = protocol.epochs
        self._orders = inputs.streams("passes") if protocol.reshuffle and self._batch < self._rows else None
        self._recorder = Recorder(inputs, self.hypothesis, protocol.epochs + 1)

    def pieces(self) -> Iterator[None]:
        for epoch in range(self._last + 1):
            if epoch == 1 or (epoch > 1 and not self._solves):
                order = None if self._orders is None else self._orders.permutation(self._rows)
                for first in range(0, self._rows, self._batch):
                    if first > 0:
                        yield
                    batch = slice(first, min(first + self._batch, self._rows))
                    yield from learning(self.hypothesis, *self._training_rows(batch, order))
            self._recorder.take({"epoch": epoch, "k": self._rows if epoch else 0}, self._rows)
            yield

    def _training_rows(
        self, selected: slice, order: NDArray[np.int64] | None
    ) -> tuple[Instances, torch.Tensor]:
        """Return the training rows at the positions `selected` of `order` [R, rows], and their labels.

        If `order` is None, the positions are those in stored order.
        """
        if order is None:
            return self._data.instances.at(selected), self._data.labels[:, selected]
        numbers = torch.from_numpy(np.ascontiguousarray(order[:, selected]))
        return self._data.examples(numbers.to(self._data.labels.device))

    def block(self) -> Block:
        return self._recorder.block()
