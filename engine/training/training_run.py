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
    """Interface for the computation of a learner's records along a protocol."""

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Work for about as long as `records` records take, and return the completed records, if any.

        If a record takes many updates, this number of updates is made instead, and the record may stay
        unfinished. Records are the same wherever calls end.

        Args:
            seconds: time after which no further update or record is begun.
        """


class TrainingRun(Recording, Protocol):
    """Recording with a hypothesis on tensors, whose predictions others may use."""

    @property
    def hypothesis(self) -> Predictor:
        """Present hypothesis of the learner."""


class InPieces:
    """Training run that continues from piece to piece, wherever a call of `advance` ends."""

    def __init__(self) -> None:
        self._pieces = self.pieces()

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Do up to `records` pieces of work within the time, and return the completed records, if any."""
        end = time.perf_counter() + seconds
        for _ in islice(self._pieces, records):
            if time.perf_counter() > end:
                break
        return self.block()

    def pieces(self) -> Iterator[None]:
        """Train to the end; yield after every piece of at most one update and one record."""
        raise NotImplementedError

    def block(self) -> Block:
        """Return the records completed since the last block."""
        raise NotImplementedError


@cache
def _solves(kind: type) -> bool:
    """Return whether hypotheses of a class are `Solved`; the check takes as long as a small example."""
    return issubclass(kind, Solved)


def learning(hypothesis: Hypothesis, instances: Instances, labels: torch.Tensor) -> Iterator[None]:
    """Make a hypothesis learn examples: instances [R, n, d], labels [B, n]; yield between pieces.

    Gradients take all examples in one update. Solvers take the examples one by one, and then solve for the
    batch members one by one.
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
    """Return data with other instances [R, n, d] and the same labels, and a training run on them.

    The training run has the same start.
    """
    data = replace(inputs.data, instances=DenseInstances(rows), w_star=None, teacher=None, memo={})
    return data, begin(replace(inputs, data=data, measures=()))


def on_transformed(
    inputs: TrainingInputs, begin: Begin, turn: torch.Tensor, of_start: torch.Tensor | None = None
) -> tuple[Data, TrainingRun]:
    """Return the instances g x, and the training run on them from the start that corresponds to x.

    Args:
        turn: g [d, d].
        of_start: g⁻ᵀ, if g is not orthogonal.
    """
    data, training_run = on_instances(inputs, begin, inputs.data.instances.rows @ turn.T)
    if isinstance(training_run.hypothesis, Turnable):
        training_run.hypothesis.rotate(turn if of_start is None else of_start)
    return data, training_run


def coupled(inputs: TrainingInputs, begin: Begin) -> TrainingRun:
    """Return a training run with the measures that compare it with runs on transformed instances."""
    measures = [measure for measure in inputs.measures if measure.needs().under is not None]
    if not measures:
        return begin(inputs)
    own_inputs = replace(
        inputs, measures=tuple(candidate for candidate in inputs.measures if candidate.needs().under is None)
    )
    return CoupledRuns(own_inputs, begin, measures)


class CoupledRuns:
    """Training run that advances together with coupled runs, record by record."""

    def __init__(self, inputs: TrainingInputs, begin: Begin, measures: list[Measure]) -> None:
        data = inputs.data
        self._data, self._run = data, begin(inputs)
        self._coupled: dict[str, tuple[Data, TrainingRun]] = {}
        for measure in measures:
            group = measure.needs().under
            assert group is not None, "coupled() chooses them so"
            turn = element(group, inputs.streams("transformations"), data.instances.d, -1)
            matrix = torch.from_numpy(turn).to(data.labels)
            self._coupled[measure.name] = on_transformed(inputs, begin, matrix)

    @property
    def hypothesis(self) -> Predictor:
        """Present hypothesis of the learner."""
        return self._run.hypothesis

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Complete at most one record, because predictions are compared when both runs have completed it."""
        block = self._run.advance(min(records, 1), seconds)
        if new := len(block.loss):
            before = self._by_member(self._run.hypothesis.predict(self._data.instances))
            for measure, (data, other) in self._coupled.items():
                complete = 0
                while complete < new:
                    complete += len(other.advance(1).loss)
                block.measures[measure] = self._compared(
                    before, other.hypothesis.predict(data.instances), new
                )
        return block

    def _compared(self, before: torch.Tensor, after: torch.Tensor, records: int) -> np.ndarray:
        """Return max |Δŷ| / max |ŷ| over rows and targets, [S, R, V], at the last of S records."""
        change = (self._by_member(after) - before).abs().amax(2)
        size = before.abs().amax(2)
        ratios = np.full((records, *change.shape), np.nan)
        # 0/0 of predictions that are 0 in both runs is no change, not NaN.
        ratios[-1] = torch.where(change == 0, 0.0, change / size).double().cpu().numpy()
        return ratios

    def _by_member(self, predictions: torch.Tensor) -> torch.Tensor:
        """Return predictions [B, n] as [R, V, targets × n]."""
        return predictions.reshape(self._data.replicas, self._data.variants, -1)
