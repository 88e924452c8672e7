"""Training runs: their interface, runs that can pause, and comparisons with runs on transformed data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engine.core.lazy import torch
from engine.hypotheses.hypothesis import Hypothesis, Predictor, Solved, Turnable
from engine.problems.data import Data
from engine.problems.instances import DenseInstances, element
from engine.solvers import TOGETHER
from engine.training.descent import Descent, TrainingInputs
from engine.training.recorder import Block

if TYPE_CHECKING:
    from engine.measures import Measure
    from engine.problems.instances import Instances


class Recording(Protocol):
    """Interface of computations that train a learner and return its records (evaluations) piece by piece."""

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Continue by about `records` records (evaluations), and return the records that are complete.

        If a record takes many updates, make up to `records` updates instead. The block that is returned may
        then be empty, and the next call continues the record. The values of records do not depend on where
        calls end.

        Args:
            seconds: time after which no further update or record is started.
        """


class TrainingRun(Recording, Protocol):
    """Training run that gives access to its hypothesis (model), for example to compare predictions."""

    @property
    def hypothesis(self) -> Predictor: ...


class Unstarted:
    """Training run that starts at its first call of `advance`.

    Drawing the initial weights may take long. So learners that come earlier in the experiment can show their
    first results before a later learner starts.
    """

    def __init__(self, begin: Callable[[], Recording]) -> None:
        self._begin = begin

    @cached_property
    def started(self) -> Recording:
        return self._begin()

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        return self.started.advance(records, seconds)


class InPieces:
    """Training run that is divided into pieces of work. A call of `advance` can end after any piece."""

    def __init__(self) -> None:
        self._pieces = self.pieces()

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Do up to `records` pieces of work within `seconds`, and return the complete evaluations."""
        end = time.perf_counter() + seconds
        for _ in islice(self._pieces, records):
            if time.perf_counter() > end:
                break
        return self.block()

    def pieces(self) -> Iterator[None]:
        """Train to the end, and yield after every piece of work.

        A piece of work contains at most one update and one record (evaluation).
        """
        raise NotImplementedError

    def block(self) -> Block:
        """Return the records completed since the last block."""
        raise NotImplementedError


@cache  # because the check takes as long as learning a small example
def _is_solved(kind: type) -> bool:
    return issubclass(kind, Solved)


MULTIPLICATIONS = 1 << 25
"""Multiplications per piece of work, for a solver with d² multiplications for each example and replica."""


def learning(hypothesis: Hypothesis, instances: Instances, labels: torch.Tensor) -> Iterator[None]:
    """Train a hypothesis on examples, the instances [R, n, d] with labels [B, n].

    Gradient descent makes one update for all examples, without a yield. A solver receives some examples at a
    time, and then solves for each member of its batch in turn. The function yields between these pieces of
    work.
    """
    if isinstance(hypothesis, Descent):
        hypothesis.learn(instances, labels)
        return
    per_example = instances.replicas * instances.d**2
    together = min(TOGETHER, max(1, MULTIPLICATIONS // per_example))
    for first in range(0, instances.n, together):
        if first > 0:
            yield
        examples = slice(first, first + together)
        hypothesis.learn(instances.at(examples), labels[:, examples])
    if _is_solved(type(hypothesis)) and isinstance(hypothesis, Solved):
        yield from hypothesis.solving()


Begin = Callable[[TrainingInputs], TrainingRun]


def on_instances(inputs: TrainingInputs, begin: Begin, rows: torch.Tensor) -> tuple[Data, TrainingRun]:
    """Return the data with its instances replaced by `rows` [R, n, d], and a training run on them.

    Labels do not change. The training run has the same start as a run on the original data.
    """
    data = replace(inputs.data, instances=DenseInstances(rows), w_star=None, teacher=None, memo={})
    return data, begin(replace(inputs, data=data, measures=()))


def on_transformed(
    inputs: TrainingInputs, begin: Begin, turn: torch.Tensor, of_start: torch.Tensor | None = None
) -> tuple[Data, TrainingRun]:
    """Return data with instances g x in place of x, and a training run on these data.

    If the hypothesis is `Turnable`, its start is transformed as well. Then the initial predictions equal
    those of the original hypothesis on the original instances, unless the architecture cannot transform its
    start.

    Args:
        turn: the matrix g [d, d].
        of_start: the matrix g⁻ᵀ, which transforms the start. It may be left out if g is orthogonal, because
            g⁻ᵀ is then g.
    """
    data, training_run = on_instances(inputs, begin, inputs.data.instances.rows @ turn.T)
    if isinstance(training_run.hypothesis, Turnable):
        training_run.hypothesis.rotate(turn if of_start is None else of_start)
    return data, training_run


def coupled(inputs: TrainingInputs, begin: Begin) -> TrainingRun:
    """Return the training run of a learner.

    If measures compare the learner with runs on transformed instances, the training run includes them, and
    computes these measures.
    """
    measures = [measure for measure in inputs.measures if measure.needs().under is not None]
    if not measures:
        return begin(inputs)
    own_inputs = replace(
        inputs, measures=tuple(measure for measure in inputs.measures if measure.needs().under is None)
    )
    return CoupledRuns(own_inputs, begin, measures)


class CoupledRuns:
    """Training run of a learner that also advances runs of the same learner on transformed instances.

    After each evaluation, the predictions of the other runs are compared with those of the learner.
    """

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
        return self._run.hypothesis

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Do one piece of work of the learner's run. After new records, compare predictions.

        The other runs first advance to the same record (evaluation).
        """
        block = self._run.advance(min(records, 1), seconds)
        if new := len(block.loss):
            before = self._rows_by_member(self._run.hypothesis.predict(self._data.instances))
            for measure, (data, other) in self._coupled.items():
                complete = 0
                while complete < new:
                    complete += len(other.advance(1).loss)
                block.measures[measure] = self._relative_changes(
                    before, other.hypothesis.predict(data.instances), new
                )
        return block

    def _relative_changes(self, before: torch.Tensor, after: torch.Tensor, records: int) -> np.ndarray:
        """Return the largest relative change of predictions by a transformation, [S, R, V].

        The change is max |Δŷ| / max |ŷ| over rows and targets, where Δŷ is the difference from the run on the
        original instances. Only the last of the S records has a value; the others are NaN.
        """
        change = (self._rows_by_member(after) - before).abs().amax(2)
        size = before.abs().amax(2)
        ratios = np.full((records, *change.shape), np.nan)
        # Predictions that are 0 in both runs give 0/0, which is no change.
        ratios[-1] = torch.where(change == 0, 0.0, change / size).double().cpu().numpy()
        return ratios

    def _rows_by_member(self, predictions: torch.Tensor) -> torch.Tensor:
        """Reshape predictions [B, n] to one row per replica and variant, [R, V, targets × n]."""
        return predictions.reshape(self._data.replicas, self._data.variants, -1)
