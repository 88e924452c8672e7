"""Protocol that trains on all examples so far after each new example, until the learner fits them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from engine.core.lazy import torch
from engine.core.parts import Count, Positive
from engine.protocols import Protocol, ProtocolSchedule
from engine.protocols.one_pass import OnePass
from engine.training.descent import Descent, TrainingInputs
from engine.training.recorder import Block, Recorder
from engine.training.training_run import InPieces, TrainingRun


class ToConsistency(Protocol, frozen=True, tag="to-consistency"):
    """Passes over the first k examples, after each example k, until their mean loss is ≤ `tolerance`.

    A pass makes one update for each of the k examples, in order. At most `passes` passes follow each new
    example. Solvers are fitted to all examples so far after each new example. Source: AW20 Fig. 3;
    theory/conventions#protocols.
    """

    tolerance: Annotated[
        Positive,
        Meta(
            title="tolerance", description="passes end once the mean loss on the k examples is at most this"
        ),
    ] = 1e-3
    passes: Annotated[
        Count, Meta(title="passes", description="maximum number of passes after each new example")
    ] = 100

    def schedule(self) -> ProtocolSchedule:
        return ProtocolSchedule(single=True, in_data_order=True)

    def departure_from_k_rows(self, measure: str) -> None:
        return None

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> TrainingRun:
        if inputs.learner.solver is not None:
            return OnePass().training_run(inputs)
        return Rounds(self, inputs)


class Rounds(InPieces):
    """Training run in which a learner is trained again on all examples so far after each new example."""

    def __init__(self, protocol: ToConsistency, inputs: TrainingInputs) -> None:
        super().__init__()
        self.hypothesis = Descent(inputs)
        self._protocol, self._data, self._loss = protocol, inputs.data, inputs.loss
        self._recorder = Recorder(inputs, self.hypothesis, self._data.instances.n + 1)

    def pieces(self) -> Iterator[None]:
        for k in range(self._data.instances.n + 1):
            if k > 0:
                yield from self._train_on_first(k)
            self._recorder.take({"k": k}, k)
            yield

    def block(self) -> Block:
        return self._recorder.block()

    def _train_on_first(self, k: int) -> Iterator[None]:
        """Train on the first k examples, pass by pass, until the loss after a pass is at most `tolerance`."""
        seen, labels = self._data.instances.at(slice(0, k)), self._data.labels[:, :k]
        active = torch.ones_like(self.hypothesis.of_nets(labels[:, 0]), dtype=torch.bool)
        for _ in range(self._protocol.passes):
            for j in range(k):
                self.hypothesis.descend(seen.at(slice(j, j + 1)), labels[:, j : j + 1], active=active)
                yield
            costs = self._loss.value(self.hypothesis.predict(seen), labels).mean(1)
            active &= self.hypothesis.of_nets(costs) > self._protocol.tolerance
            if not active.any():
                return
