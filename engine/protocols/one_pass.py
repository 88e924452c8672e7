"""One pass over the examples, the loss over all rows after each."""

from __future__ import annotations

import numpy as np

from engine.hypothesis import Hypothesis
from engine.lazy import torch
from engine.losses import Loss
from engine.problems.data import Data
from engine.protocols import Block, Protocol

CELLS = 1 << 22
"""At most so many predictions are held at once while losses are computed."""


class OnePass(Protocol, frozen=True, tag="one-pass"):
    """One update per example; after k = 0 … n examples the average loss over all n rows, seen ones included.

    Source: WKA21 Fig. 2; theory.md §§1, 5.
    """

    def records(self, n: int) -> int:
        return n + 1

    def course(self, hypothesis: Hypothesis, data: Data, loss: Loss) -> Pass:
        return Pass(hypothesis, data, loss)


class Pass:
    """A learner on its one pass. Linear hypotheses are measured in blocks, as one product of matrices."""

    def __init__(self, hypothesis: Hypothesis, data: Data, loss: Loss) -> None:
        self._hypothesis, self._data, self._loss = hypothesis, data, loss
        self._next = 0

    def advance(self, records: int) -> Block:
        first, end = self._next, min(self._next + records, self._data.instances.n + 1)
        vectors: list[torch.Tensor] = []
        losses: list[torch.Tensor] = []
        for k in range(first, end):
            if k > 0:
                self._hypothesis.learn(self._data.instances.at(k - 1), self._data.labels[:, k - 1 : k])
            w = self._hypothesis.weights()
            if w is None:
                losses.append(self._averages(self._hypothesis.predict(self._data.instances)[:, None]))
            else:
                vectors.append(w)
        self._next = end
        weights = torch.stack(vectors, 1) if vectors else None  # [B, S, d]
        if weights is not None:
            at_once = max(1, CELLS // self._data.labels.numel())
            for some in torch.split(weights, at_once, 1):
                losses.append(self._averages(self._data.instances.inner(some)))
        return Block(
            np.arange(first, end, dtype=np.float64),
            torch.cat(losses, 1).T.cpu().numpy() if losses else np.empty((0, self._data.replicas)),
            None if weights is None else weights[0].cpu().numpy(),
        )

    def _averages(self, predictions: torch.Tensor) -> torch.Tensor:
        """The loss of predictions [B, S, n], averaged over rows and targets, [R, S] in float64."""
        values = self._loss.value(predictions, self._data.labels[:, None])
        per_target = values.mean(2, dtype=torch.float64)
        return per_target.view(self._data.replicas, self._data.targets, -1).mean(1)
