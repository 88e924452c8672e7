"""A fresh model for every number of examples, trained to the end; all of them at once as one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from engine.costs import Cost
from engine.hypothesis import Descent, begin
from engine.lazy import torch
from engine.parts import Count
from engine.problems.data import Data
from engine.protocols import Course, Floats, Protocol
from engine.recorder import Block, Recorder
from engine.streams import Streams

if TYPE_CHECKING:
    from engine.experiment import Learner


class ERM(Protocol, frozen=True, tag="erm"):
    """For every k a fresh model, trained on the first k rows by up to `steps` full-batch steps.

    A model rests once its training loss is at most `tolerance`. All k are trained side by side as one batch,
    k = 0, `every`, 2·`every`, …, n. Rules with a mini-batch size (sgd) draw that many of the k examples at
    each step. Source: WKA21 §6; theory.md §5.
    """

    every: Annotated[Count, Meta(title="every", description="distance of one k to the next")] = 4
    steps: Annotated[Count, Meta(title="steps", description="at most so many updates")] = 1000
    tolerance: Annotated[
        float, Meta(ge=0, title="tolerance", description="training loss at which a model rests")
    ] = 1e-6

    @property
    def single(self) -> bool:
        return False

    def grid(self, n: int) -> Floats:
        return np.unique(np.append(np.arange(0.0, n, self.every), float(n)))

    def course(self, learner: Learner, data: Data, loss: Cost, streams: Streams) -> Course:
        if learner.solver is not None:
            return Fits(self, learner, data, loss, streams)
        return FreshModels(self, learner, data, loss, streams)


class FreshModels:
    """One model per k, trained side by side; their records are complete all at once."""

    def __init__(self, protocol: ERM, learner: Learner, data: Data, loss: Cost, streams: Streams) -> None:
        self._protocol, self._loss = protocol, loss
        self._grid = protocol.grid(data.instances.n)
        self._one, self._data = data, data.with_variants(len(self._grid))
        self.hypothesis = Descent(learner, loss, self._data, streams)
        self._batch: int | None = getattr(learner.update, "batch", None)
        device = data.labels.device
        members = torch.from_numpy(self._grid).to(device).repeat_interleave(data.variants * data.targets)
        self._examples = members.repeat(data.replicas)[:, None]  # k of every member of the batch, [B, 1]
        self._active = self._examples[:, 0] > 0
        self._generator = torch.Generator(device).manual_seed(streams.seeds[0])
        self._step = 0

    def advance(self, records: int) -> Block:
        while self._step < self._protocol.steps and self._active.any():
            if records == 0:
                return Recorder(self._one, self._loss).block()
            records -= 1
            self._train()
        return self._finish()

    def _train(self) -> None:
        instances, labels = self._data.instances, self._data.labels
        predictions = self.hypothesis.descend(instances, labels, self._shares(), self._active)
        self._step += 1
        costs = (self._loss.value(predictions, labels) * self._all()).sum(1)
        self._active &= ~(costs <= self._protocol.tolerance)

    def _all(self) -> torch.Tensor:
        """1/k on the first k rows of every member of the batch, 0 on the others, [B, n]."""
        rows = torch.arange(self._data.instances.n, device=self._examples.device)
        shares = (rows < self._examples) / self._examples.clamp(min=1)
        return shares.to(self._data.labels.dtype)

    def _shares(self) -> torch.Tensor:
        """The share of every row in the gradient of the next step."""
        shares = self._all()
        if self._batch is None:
            return shares
        drawn = torch.multinomial(
            shares + (self._examples == 0), self._batch, replacement=True, generator=self._generator
        )
        ones = torch.full_like(drawn, 1 / self._batch, dtype=shares.dtype)
        return torch.zeros_like(shares).scatter_add_(1, drawn, ones)

    def _finish(self) -> Block:
        recorder = Recorder(self._data, self._loss)
        recorder.take(0, self.hypothesis, self._examples)
        whole = recorder.block()
        k, variants = len(self._grid), self._one.variants

        def by_k(values: Floats) -> Floats:
            moved: Floats = np.moveaxis(values[0].reshape(-1, k, variants), 1, 0)
            return moved

        return Block(
            self._grid,
            by_k(whole.loss),
            {name: by_k(values) for name, values in whole.measures.items()},
            None if whole.weights is None else whole.weights[0].reshape(k, variants, -1),
            None if whole.spectrum is None else whole.spectrum[0].reshape(k, variants, -1),
        )


class Fits:
    """A solver, told the examples one by one and measured where the fresh models are."""

    def __init__(self, protocol: ERM, learner: Learner, data: Data, loss: Cost, streams: Streams) -> None:
        self.hypothesis = begin(learner, loss, data, streams)
        self._data, self._grid = data, protocol.grid(data.instances.n)
        self._recorder = Recorder(data, loss)
        self._told, self._next = 0, 0

    def advance(self, records: int) -> Block:
        for k in self._grid[self._next : self._next + records]:
            new = slice(self._told, int(k))
            if self._told < k:
                self.hypothesis.learn(self._data.instances.at(new), self._data.labels[:, new])
            self._told = int(k)
            self._recorder.take(k, self.hypothesis, int(k))
            self._next += 1
        return self._recorder.block()
