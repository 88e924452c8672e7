"""A training run beside those of the same learner on transformed instances, from coupled starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Predictor, Turnable
from engine.problems.data import Data
from engine.problems.instances import Dense
from engine.problems.transformations import element
from engine.training.recorder import Block
from engine.training.training_inputs import TrainingInputs
from engine.training.training_run import TrainingRun

if TYPE_CHECKING:
    from engine.measures import Measure

Begin = Callable[[TrainingInputs], TrainingRun]


def on_instances(inputs: TrainingInputs, begin: Begin, rows: torch.Tensor) -> tuple[Data, TrainingRun]:
    """Other instances [R, n, d] with the same labels, and the training run on them from the same start."""
    data = replace(inputs.data, instances=Dense(rows), w_star=None, teacher=None, memo={})
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
    own = replace(inputs, measures=tuple(one for one in inputs.measures if one.needs().under is None))
    return CoupledRuns(own, begin, measures)


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
                taken = 0
                while taken < new:
                    taken += len(other.advance(1).loss)
                block.measures[name] = self._compared(before, other.hypothesis.predict(data.instances), new)
        return block

    def _compared(self, before: torch.Tensor, after: torch.Tensor, records: int) -> np.ndarray:
        """max |Δŷ| / max |ŷ| over rows and targets, [S, R, V] of the last of S records."""
        change = (self._by_member(after) - before).abs().amax(2)
        size = before.abs().amax(2)
        found = np.full((records, *change.shape), np.nan)
        found[-1] = torch.where(change == 0, 0.0, change / size).double().cpu().numpy()
        return found

    def _by_member(self, predictions: torch.Tensor) -> torch.Tensor:
        """Predictions [B, n] as [R, V, targets × n]."""
        return predictions.reshape(self._data.replicas, self._data.variants, -1)
