"""Protocol that trains a new model for every number k of examples. Several models form one batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.parts import SELDOM, Count
from engine.problems.instances import Instances
from engine.protocols import BeginGroup, Extent, Floats, Protocol, ProtocolSchedule, places
from engine.training.descent import Descent, TrainingInputs, begin, kept_records, start_of
from engine.training.recorder import Block, Recorder, nothing_measured
from engine.training.training_run import InPieces, TrainingRun, learning

Drawn = NDArray[np.int64]
"""Indices of the rows in mini-batches, [R, K, batch]."""

NUMBERS = 1 << 18
"""Maximum total number of weights of models that train as one batch, so that they fit into the cache."""


class ERM(Protocol, frozen=True, tag="erm"):
    """For every k, a new model is trained on the first k rows by up to `steps` full-batch steps.

    Training ends early if the training loss is at most `tolerance`. The values of k are 0, `every`,
    2·`every`, …, up to n or `examples`. Models for several k train side by side. Update rules with a
    mini-batch size (sgd) draw this number of the k examples, with replacement, for each step. Source: WKA21
    §6; theory/conventions#protocols.
    """

    every: Annotated[Count, Meta(title="every", description="difference between successive k")] = 4
    steps: Annotated[Count, Meta(title="steps", description="maximum number of updates of each model")] = 1000
    tolerance: Annotated[
        float, Meta(ge=0, title="tolerance", description="training loss at which a model stops training")
    ] = 1e-6

    examples: Annotated[
        Count | None,
        Meta(title="examples", description="largest number of examples k; none: all rows", extra=SELDOM),
    ] = None

    def schedule(self) -> ProtocolSchedule:
        return ProtocolSchedule(in_data_order=True, stops_blindly=self.tolerance == 0, fresh_steps=self.steps)

    def departure_from_k_rows(self, measure: str) -> None:
        return None

    def extent(self, n: int) -> Extent:
        last = min(n, self.examples or n)
        records = math.ceil(last / self.every) + 1
        return Extent(last, records, rows=n, most_examples=last, examples_given=last, models=records)

    def place(self, number: Any, n: int) -> NDArray[Any]:
        return super().place(np.asarray(number) * self.every, n)

    def training_run(self, inputs: TrainingInputs, begin: Any = None) -> TrainingRun:
        if inputs.learner.solver is not None:
            return SolverFits(self, inputs)
        return FreshModels(self, inputs, begin or BatchedModels)


class FreshModels(InPieces):
    """Training run in which a separate model is trained for every number k of examples.

    Models for successive k form groups. All evaluation points become available only at the end.
    """

    def __init__(self, protocol: ERM, inputs: TrainingInputs, begin: BeginGroup) -> None:
        super().__init__()
        data = inputs.data
        self._protocol, self._data = protocol, data
        self._complete_block: Block | None = None
        grid = places(protocol, data.instances.n)
        architecture, update = inputs.learner.trained
        nets = data.replicas * data.variants * data.targets // architecture.outputs
        together = max(1, NUMBERS // (nets * architecture.layout(data.instances.d).size))
        # The models for k = 0 do not train, so no batch that trains computes with them.
        untrained = int(np.count_nonzero(grid == 0))
        ends = [0, *range(untrained, len(grid), together), len(grid)]
        self._parts = [slice(first, end) for first, end in pairwise(ends) if first < end]
        start = start_of(inputs)
        self._groups = [begin(grid[part], inputs, start) for part in self._parts]
        self._grid, self._draws = grid, inputs.streams("batches")
        self._batch = update.structure().mini_batch
        self.hypothesis = Models([group.hypothesis for group in self._groups])

    def pieces(self) -> Iterator[None]:
        yield from self._train_on_all_rows() if self._batch is None else self._train_on_batches(self._batch)
        blocks = []
        for group in self._groups:
            blocks.append(group.finish())
            yield
        self._complete_block = _joined_block(blocks)

    def _train_on_all_rows(self) -> Iterator[None]:
        """Train one group after the other, so that the weights of a group stay in the processor's cache."""
        for group in self._groups:
            remaining = self._protocol.steps
            while group.training and remaining > 0:
                remaining -= group.steps(remaining, self._protocol.tolerance)
                yield

    def _train_on_batches(self, batch: int) -> Iterator[None]:
        """Make each training step with all groups before the next step. All groups share the mini-batches."""
        for _ in range(self._protocol.steps):
            if not any(group.training for group in self._groups):
                break
            drawn = self._draw_batches(batch)
            for group, part in zip(self._groups, self._parts, strict=True):
                if group.training:
                    group.steps(1, self._protocol.tolerance, drawn[:, part])
                    yield

    def block(self) -> Block:
        block, self._complete_block = self._complete_block, None
        return block or Block({}, nothing_measured(self._data), {}, {})

    def _draw_batches(self, batch: int) -> Drawn:
        """Draw a mini-batch from the first k rows with replacement, for every k: row indices [R, K, batch].

        All models of a replica with the same k share a mini-batch. The models for k = 0 do not train.
        """
        places: Floats = self._draws.uniform(len(self._grid), batch) * self._grid[:, None]
        return places.astype(np.int64)


class Models(NamedTuple):
    """All models of a training run, treated as one hypothesis. They are ordered by groups."""

    models: list[Descent]

    def predict(self, instances: Instances) -> torch.Tensor:
        return torch.cat([model.predict(instances) for model in self.models])

    def rotate(self, rotation: torch.Tensor) -> None:
        for model in self.models:
            model.rotate(rotation)


class BatchedModels:
    """Group of models with consecutive numbers k of training examples. They train as one batch.

    The batch uses the training rows of the largest k. In the gradient of each model, rows after its first k
    rows have weight 0.
    """

    def __init__(self, grid: Floats, inputs: TrainingInputs, start: Params) -> None:
        """Create a model for every k in `grid`, all with the same initial tensors `start` in a replica."""
        data = inputs.data
        self._grid, self._loss = grid, inputs.loss
        self._data_of_one_k, self._data = data, data.with_variants(len(grid))
        side_by_side = replace(inputs, data=self._data)
        self.hypothesis = Descent(side_by_side, start)
        self._recorder = Recorder(side_by_side, self.hypothesis, 1)
        last = int(grid[-1])
        self._instances, self._labels = data.instances.at(slice(0, last)), self._data.labels[:, :last]
        architecture, update = inputs.learner.trained
        decays = architecture.layout(data.instances.d).l2_penalty > 0
        narrows = last > 0 and update.structure().columnwise and not decays
        narrowed = self._instances.narrowed() if narrows else None
        self._narrow = narrowed is not None
        if narrowed is not None:
            self._instances = narrowed
            self.hypothesis.narrow(narrowed.d)
        k = torch.from_numpy(grid).to(data.labels.device).repeat_interleave(data.variants * data.targets)
        k = k.repeat(data.replicas)[:, None]  # k of each batch member, [B, 1]
        rows = torch.arange(last, device=k.device)
        self._shares = ((rows < k) / k.clamp(min=1)).to(data.labels.dtype)  # 1/k on the first k rows, [B, k]
        self._seen, self._active = k, self.hypothesis.of_nets(k[:, 0]) > 0
        self.training = bool(self._active.any())

    def steps(self, limit: int, tolerance: float, drawn: Drawn | None = None) -> int:
        """Make one step with all models that still train, and return 1, the number of steps."""
        shares = self._shares if drawn is None else self._shares_in_batch(drawn)
        predictions = self.hypothesis.descend(self._instances, self._labels, shares, self._active)
        costs = (self._loss.value(predictions, self._labels) * self._shares).sum(1)
        self._active &= ~(self.hypothesis.of_nets(costs) <= tolerance)
        self.training = bool(self._active.any())
        return 1

    def _shares_in_batch(self, drawn: Drawn) -> torch.Tensor:
        """Return the share of each training row in the mini-batch, [B, n], for every model and target."""
        batch, members = drawn.shape[-1], self._data_of_one_k.variants * self._data_of_one_k.targets
        rows = torch.from_numpy(drawn).to(self._shares.device).repeat_interleave(members, 1).view(-1, batch)
        ones = torch.full_like(rows, 1 / batch, dtype=self._shares.dtype)
        return torch.zeros_like(self._shares).scatter_add_(1, rows, ones)

    def finish(self) -> Block:
        if self._narrow:
            self.hypothesis.widen()
        self._recorder.take({}, self._seen)
        block = self._recorder.block()
        k, variants = len(self._grid), self._data_of_one_k.variants

        weights = {}
        if block.weights:
            weights = dict(enumerate(block.weights[0].reshape(k, variants, -1)))
        return Block(
            {"k": self._grid},
            {
                measure: np.moveaxis(_separated_by_k(values[0], k), 1, 0)
                for measure, values in block.measures.items()
            },
            weights,
            {
                measure: dict(enumerate(np.moveaxis(_separated_by_k(array[0], k), 1, 0)))
                for measure, array in block.arrays.items()
            },
        )


def _separated_by_k(values: Floats, k: int) -> Floats:
    """Reshape measures [R, K·V, …] to [R, K, V, …], for K numbers k of examples and V variants."""
    return values.reshape(len(values), k, -1, *values.shape[2:])


def _joined_block(blocks: list[Block]) -> Block:
    """Join the blocks of all groups of models to one block of records (evaluations).

    Every record of a group has weights, but only the weights of the records in `kept_records` are retained.
    """
    weights = [vector for block in blocks for vector in block.weights.values()]
    records = kept_records(len(weights), weights[0].shape[-1], weights[0].itemsize) if weights else ()
    arrays = {
        measure: dict(enumerate(values for block in blocks for values in block.arrays[measure].values()))
        for measure in blocks[0].arrays
    }
    return Block(
        {"k": np.concatenate([block.clocks["k"] for block in blocks])},
        {
            measure: np.concatenate([block.measures[measure] for block in blocks])
            for measure in blocks[0].measures
        },
        {record: vector for record, vector in enumerate(weights) if record in records},
        arrays,
    )


class SolverFits(InPieces):
    """Fits of a solver to more and more examples, evaluated at the same k as `FreshModels`.

    The solver is given new examples before each evaluation point.
    """

    def __init__(self, protocol: ERM, inputs: TrainingInputs) -> None:
        super().__init__()
        self.hypothesis = begin(inputs)
        self._data, self._grid = inputs.data, places(protocol, inputs.data.instances.n)
        self._recorder = Recorder(inputs, self.hypothesis, len(self._grid))

    def pieces(self) -> Iterator[None]:
        seen = 0
        for k in self._grid.astype(int).tolist():
            new = slice(seen, k)
            yield from learning(self.hypothesis, self._data.instances.at(new), self._data.labels[:, new])
            seen = k
            self._recorder.take({"k": k}, k)
            yield

    def block(self) -> Block:
        return self._recorder.block()
