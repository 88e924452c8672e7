"""Training runs: their interface, their pieces of work between pauses, and runs from coupled starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Hypothesis, Predictor, Solved, Turnable
from engine.problems.data import Data
from engine.problems.instances import DenseInstances, element
from engine.training.descent import Descent, TrainingInputs
from engine.training.recorder import Block

if TYPE_CHECKING:
    from engine.measures import Measure
    from engine.problems.instances import Instances


class Recording(Protocol):
    """What computes the records of one learner on its way through a protocol."""

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Work for about as long as `records` records take; the records that were completed, maybe none.

        Where records take many updates each, so many updates are made, and a record is left unfinished.
        Records are the same wherever calls end.

        Args:
            seconds: after which no more work is begun, that of a single update or record.
        """


class TrainingRun(Recording, Protocol):
    """The same where there is a hypothesis on tensors, whose predictions others may use."""

    @property
    def hypothesis(self) -> Predictor:
        """What the learner predicts now."""


class InPieces:
    """A training run that goes on from one piece of work to the next, wherever a call of `advance` ends."""

    def __init__(self) -> None:
        self._pieces = self.pieces()

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Do so many pieces of work, fewer once the time is up; the records completed, maybe none."""
        end = time.perf_counter() + seconds
        for _ in islice(self._pieces, records):
            if time.perf_counter() > end:
                break
        return self.block()

    def pieces(self) -> Iterator[None]:
        """Train to the end; yields after every piece, which has one update, one record or both at most."""
        raise NotImplementedError

    def block(self) -> Block:
        """The records completed since the last block."""
        raise NotImplementedError


@cache
def _solves(kind: type) -> bool:
    """Whether hypotheses of a class are `Solved`; to find out takes as long as a small example."""
    return issubclass(kind, Solved)


def learning(hypothesis: Hypothesis, instances: Instances, labels: torch.Tensor) -> Iterator[None]:
    """Have a hypothesis take in examples: instances [R, n, d] and labels [B, n]; yields between pieces.

    Gradients take them all in one update. Solvers take one after the other, and then solve for one member of
    the batch after the other.
    """
    if isinstance(hypothesis, Descent):
        hypothesis.learn(instances, labels)
        return
    for number in range(instances.n):
        if number > 0:
            yield
        example = slice(number, number + 1)
        hypothesis.learn(instances.at(example), labels[:, example])
    if _solves(type(hypothesis)) and isinstance(hypothesis, Solved):
        yield from hypothesis.solving()


Begin = Callable[[TrainingInputs], TrainingRun]


def on_instances(inputs: TrainingInputs, begin: Begin, rows: torch.Tensor) -> tuple[Data, TrainingRun]:
    """Other instances [R, n, d] with the same labels, and the training run on them from the same start."""
    data = replace(inputs.data, instances=DenseInstances(rows), w_star=None, teacher=None, memo={})
    return data, begin(replace(inputs, data=data, measures=()))


def on_transformed(inputs: TrainingInputs, begin: Begin, turn: torch.Tensor) -> tuple[Data, TrainingRun]:
    """The instances g x, and the training run on them from the start that corresponds to that on x."""
    data, training_run = on_instances(inputs, begin, inputs.data.instances.rows @ turn.T)
    if isinstance(training_run.hypothesis, Turnable):
        training_run.hypothesis.rotate(turn)
    return data, training_run


def coupled(inputs: TrainingInputs, begin: Begin) -> TrainingRun:
    """A training run with the measures that compare it with others of it, on transformed instances."""
    measures = [measure for measure in inputs.measures if measure.needs().under is not None]
    if not measures:
        return begin(inputs)
    own_inputs = replace(
        inputs, measures=tuple(candidate for candidate in inputs.measures if candidate.needs().under is None)
    )
    return CoupledRuns(own_inputs, begin, measures)


class CoupledRuns:
    """A training run that takes the others along, record by record."""

    def __init__(self, inputs: TrainingInputs, begin: Begin, measures: list[Measure]) -> None:
        data = inputs.data
        self._data, self._own = data, begin(inputs)
        self._others: dict[str, tuple[Data, TrainingRun]] = {}
        for measure in measures:
            group = measure.needs().under
            assert group is not None, "coupled() chooses them so"
            turn = element(group, inputs.streams("transformations"), data.instances.d, -1)
            matrix = torch.from_numpy(turn).to(data.labels)
            self._others[measure.name] = on_transformed(inputs, begin, matrix)

    @property
    def hypothesis(self) -> Predictor:
        """What the learner predicts now."""
        return self._own.hypothesis

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """One record at most: predictions are compared where both runs have just completed it."""
        block = self._own.advance(min(records, 1), seconds)
        if new := len(block.loss):
            before = self._by_member(self._own.hypothesis.predict(self._data.instances))
            for name, (data, other) in self._others.items():
                complete = 0
                while complete < new:
                    complete += len(other.advance(1).loss)
                block.measures[name] = self._compared(before, other.hypothesis.predict(data.instances), new)
        return block

    def _compared(self, before: torch.Tensor, after: torch.Tensor, records: int) -> np.ndarray:
        """max |Δŷ| / max |ŷ| over rows and targets, [S, R, V] of the last of S records."""
        change = (self._by_member(after) - before).abs().amax(2)
        size = before.abs().amax(2)
        ratios = np.full((records, *change.shape), np.nan)
        ratios[-1] = torch.where(change == 0, 0.0, change / size).double().cpu().numpy()
        return ratios

    def _by_member(self, predictions: torch.Tensor) -> torch.Tensor:
        """Predictions [B, n] as [R, V, targets × n]."""
        return predictions.reshape(self._data.replicas, self._data.variants, -1)
