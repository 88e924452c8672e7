"""One pass over the examples, the loss over all rows after each."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.hypothesis import Hypothesis
from engine.lazy import torch
from engine.losses import Loss
from engine.parts import Count
from engine.problems.data import Data
from engine.protocols import Block, Protocol

CELLS = 1 << 22
"""At most so many predictions are held at once while losses are computed."""


class OnePass(Protocol, frozen=True, tag="one-pass"):
    """One update per example, the average loss over all n rows, seen ones included, after k = 0 … n of them.

    With `batch` > 1 an update follows the mean gradient of so many examples, once they are complete.

    Source: WKA21 Fig. 2; theory.md §§1, 5.
    """

    batch: Annotated[Count, Meta(title="mini-batch", description="examples per update")] = 1

    @property
    def single(self) -> bool:
        return self.batch == 1

    def records(self, n: int) -> int:
        return n + 1

    def course(self, hypothesis: Hypothesis, data: Data, loss: Loss) -> Pass:
        return Pass(hypothesis, data, loss, self.batch)


class Pass:
    """A learner on its one pass.

    Predictions are made record by record, so that a curve does not depend on how a run is divided into
    blocks; their losses are computed for many records at once.
    """

    def __init__(self, hypothesis: Hypothesis, data: Data, loss: Loss, batch: int) -> None:
        self._hypothesis, self._data, self._loss, self._batch = hypothesis, data, loss, batch
        self._next = 0

    def advance(self, records: int) -> Block:
        first, end = self._next, min(self._next + records, self._data.instances.n + 1)
        at_once = max(1, CELLS // self._data.labels.numel())
        predictions: list[torch.Tensor] = []
        losses: list[torch.Tensor] = []
        vectors: list[torch.Tensor] = []
        for k in range(first, end):
            if k > 0 and k % self._batch == 0:
                new = slice(k - self._batch, k)
                self._hypothesis.learn(self._data.instances.at(new), self._data.labels[:, new])
            predictions.append(self._hypothesis.predict(self._data.instances))
            if len(predictions) == at_once or k == end - 1:
                losses.append(self._averages(torch.stack(predictions, 1)))
                predictions.clear()
            weights = self._hypothesis.weights()
            if weights is not None:
                vectors.append(weights[0])
        self._next = end
        return Block(
            np.arange(first, end, dtype=np.float64),
            torch.cat(losses, 1).T.cpu().numpy() if losses else np.empty((0, self._data.replicas)),
            torch.stack(vectors).cpu().numpy() if vectors else None,
        )

    def _averages(self, predictions: torch.Tensor) -> torch.Tensor:
        """The loss of predictions [B, S, n], averaged over rows and targets, [R, S] in float64."""
        values = self._loss.value(predictions, self._data.labels[:, None])
        per_target = values.mean(2, dtype=torch.float64)
        return per_target.view(self._data.replicas, self._data.targets, -1).mean(1)
