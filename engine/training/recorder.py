"""Recorder, which evaluates a model during training, for every replica and hyperparameter setting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.core.lazy import torch
from engine.core.linear_algebra import looked_at
from engine.core.params import Params
from engine.hypotheses.hypothesis import Parametrised, Weighted
from engine.measures import Measure, MeasureSchedule, Probe
from engine.problems.data import Data
from engine.solvers import Limit
from engine.training.descent import TrainingInputs, kept_records
from engine.training.evaluators import ByPredictions, Evaluator, evaluator, seen_counts

Values = TypeVar("Values")


class Block(NamedTuple):
    """Results of S consecutive records (evaluations) of a learner, for R replicas and V variants.

    Variants are settings of hyperparameters, such as rates.
    """

    clocks: dict[str, NDArray[np.float64]]
    """Values of the clocks, such as the number of examples, at every record, by the name of the clock.

    The clock of the x-axis is the first. The shape is [S], [S, V] if variants differ, or [S, R, V] if
    replicas differ.
    """

    measures: dict[str, NDArray[np.float64]]
    """Measured values [S, R, V] by the name of the measure; NaN at records where it is not measured."""

    weights: dict[int, NDArray[np.floating[Any]]]
    """Weight vectors [V, d] of the first replica and target, by record, if predictions are linear.

    Records are counted from the first record of the block. Only records whose weights the trace stores are
    present.
    """

    arrays: dict[str, dict[int, NDArray[np.float64]]]
    """Values of measures that are arrays, [R or 1, V, *index], by measure and by record.

    Records are counted from the first record of the block. Only records with a value are present.
    """

    inaccurate: NDArray[np.bool_] | None = None
    """Whether each replica has lost its accuracy, so that its values are NaN, at every record, [S, R].

    None if the learner cannot lose its accuracy.
    """

    @property
    def loss(self) -> NDArray[np.float64]:
        """Average loss over rows and targets, [S, R, V]."""
        return self.measures["loss"]

    def of_variant(
        self, variant: int
    ) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Return the clocks, [S] or [S, R], and the measured numbers, [S, R], of one variant."""
        clocks = {
            clock: times if times.ndim == 1 else times[..., variant] for clock, times in self.clocks.items()
        }
        return clocks, {measure: series[:, :, variant] for measure, series in self.measures.items()}

    def after(self, count: int) -> Block:
        return Block(
            {clock: times[count:] for clock, times in self.clocks.items()},
            {measure: series[count:] for measure, series in self.measures.items()},
            _renumbered(self.weights, count),
            {measure: _renumbered(series, count) for measure, series in self.arrays.items()},
            None if self.inaccurate is None else self.inaccurate[count:],
        )


def _renumbered(by_record: dict[int, Values], count: int) -> dict[int, Values]:
    """Drop the first `count` evaluation points, and number the remaining ones from 0 on."""
    return {record - count: tensor for record, tensor in by_record.items() if record >= count}


Time = float | NDArray[np.float64]
"""Value of a clock: one number, one for every variant [V], or one for every replica and variant [R, V]."""


@runtime_checkable
class HasFirstWeights(Protocol):
    """Interface of hypotheses that can return the weights for the first replica and target only."""

    def first_weights(self) -> torch.Tensor:
        """Return the weights [V, d] of all V variants, for the first replica and target."""


class Recorder:
    """Recorder of a training run, which stores losses, measures and weights at every record (evaluation).

    The evaluator computes the losses. Every record is measured separately, so that a curve does not depend on
    how calls of `advance` divide the run.
    """

    def __init__(
        self,
        inputs: TrainingInputs,
        hypothesis: Weighted,
        records: int,
        order: torch.Tensor | None = None,
        by: Evaluator | None = None,
        every_record: bool = False,
    ) -> None:
        """Prepare to record a training run that has `records` evaluation points.

        Args:
            order: numbers of the rows [R, n] in the order of training, by default the order of the data.
            by: evaluator, by default that of the function `evaluator`.
            every_record: whether to take expensive measures at all evaluation points. True if the user
                chooses the evaluation points of the protocol. Measures with `ends_only` are still taken only
                at the first and the last one.
        """
        data, measures = inputs.data, inputs.measures
        self._data, self._hypothesis = data, hypothesis
        self._with_first_weights = hypothesis if isinstance(hypothesis, HasFirstWeights) else None
        # Some backends would first have to compute the weights of all members. The weights of the first
        # replica and target suffice here, because only their dtype is needed.
        weights = (
            hypothesis.weights()
            if by is None or self._with_first_weights is None
            else self._with_first_weights.first_weights()
        )
        self._evaluator = by or evaluator(data, inputs.loss, weights, records, measures, order)
        sample = _signal_weights(hypothesis) if weights is None else weights
        self._weight_records = (
            None if sample is None else kept_records(records, data.instances.d, sample.itemsize)
        )
        self._loss, self._order = inputs.loss, order
        # Schedules are computed once, because every record needs them.
        self._schedules = {
            measure: measure.schedule()
            for measure in measures
            if measure.name not in self._evaluator.serves
            and not (measure.needs().weights and weights is None)
        }
        self._every_record, self._last = every_record, records - 1
        self._limit = None if inputs.learner.tends_to is None else Limit(inputs.learner.tends_to, data)
        self._start: Params | None = None
        self._records_taken = 0
        self._clocks: defaultdict[str, list[Time]] = defaultdict(list)
        self._waiting = 0
        self._first: Mapping[Measure, torch.Tensor] | None = None
        self._last_tensors: dict[Measure, torch.Tensor | None] = {}
        self._weights: dict[int, torch.Tensor] = {}
        self._values: dict[str, dict[int, torch.Tensor]] = {measure.name: {} for measure in self._schedules}

    def take(self, clocks: Mapping[str, Time], seen: int | torch.Tensor) -> None:
        """Evaluate the hypothesis and store the results, after `seen` examples (one number, or [B, 1]).

        `clocks` gives the value of every clock at this evaluation point.
        """
        if self.keeps(self._records_taken):
            weights = (
                self._first_weights()
                if self._with_first_weights is None
                else self._with_first_weights.first_weights()
            )
            self._weights[self._waiting] = weights
        predicted = self._take_other_measures(seen) if self._schedules else None
        if (
            predicted is not None
            and isinstance(self._evaluator, ByPredictions)
            and self._evaluator.takes_known
        ):
            self._evaluator.take_known(predicted, seen)
        else:
            self._evaluator.take(self._hypothesis, seen)
        for clock, time in clocks.items():
            self._clocks[clock].append(time)
        self._records_taken += 1
        self._waiting += 1

    def keeps(self, record: int) -> bool:
        return self._weight_records is not None and record in self._weight_records

    def looks(self, record: int) -> bool:
        """Return whether evaluation `record` reads more than losses and the first replica's weights."""
        return any(
            self._is_due(schedule, record) for schedule in self._schedules.values()
        ) or self._evaluator.looks(record)

    def _take_other_measures(self, seen: int | torch.Tensor) -> torch.Tensor | None:
        """Take all measures that are due and that the evaluator does not compute.

        Return the predictions [B, n] of all rows if a measure has computed them, else None.
        """
        of_start = self._records_taken == 0 and any(measure.needs().start for measure in self._schedules)
        if of_start and isinstance(self._hypothesis, Parametrised):
            self._start = {layer: tensor.clone() for layer, tensor in self._hypothesis.params.items()}
        due = [
            measure
            for measure, schedule in self._schedules.items()
            if self._is_due(schedule, self._records_taken)
        ]
        if not due:
            return None
        probe = Probe(
            self._data,
            self._loss,
            self._hypothesis,
            lambda: seen_counts(self._data, self._order, seen),
            self._start,
            self._first,
            self._limit,
            self._last_tensors,
        )
        for measure in due:
            self._values[measure.name][self._waiting] = probe.value(measure).cpu()
        if self._first is None:
            self._first = probe.values
        return probe.known_predictions

    def _is_due(self, schedule: MeasureSchedule, record: int) -> bool:
        if schedule.ends_only:
            return record in (0, self._last)
        return self._every_record or not schedule.expensive or looked_at(record)

    def _first_weights(self) -> torch.Tensor:
        weights = _signal_weights(self._hypothesis)
        assert weights is not None, "only hypotheses that have weights are recorded with them"
        members = self._data.variants * self._data.targets
        return weights[: members : self._data.targets].clone()

    def block(self) -> Block:
        """Return the records taken since the last block."""
        measured = self._evaluator.measured()
        measures = {measure: torch.cat(parts).cpu().numpy() for measure, parts in measured.items()}
        arrays: dict[str, dict[int, NDArray[np.float64]]] = {}
        for measure in self._schedules:
            tensors, self._values[measure.name] = self._values[measure.name], {}
            if measure.is_number:
                measures[measure.name] = self._series_over_records(tensors)
            else:
                arrays[measure.name] = {record: tensor.numpy() for record, tensor in tensors.items()}
        weights: dict[int, NDArray[np.floating[Any]]] = {}
        if self._weights:
            together = torch.cat(list(self._weights.values()))
            # One product rotates all stored vectors back, and one copy brings them from the device.
            turned = self._data.instances.of_replica(0).turn_back(together).cpu().numpy()
            by_record = turned.reshape(len(self._weights), -1, turned.shape[-1])
            weights = dict(zip(self._weights, by_record, strict=True))
        block = Block(
            {clock: np.array(times, float) for clock, times in self._clocks.items()},
            nothing_measured(self._data) | measures,
            weights,
            arrays,
        )
        self._clocks.clear()
        self._weights.clear()
        self._waiting = 0
        return block

    def _series_over_records(self, by_record: dict[int, torch.Tensor]) -> NDArray[np.float64]:
        """Return an array over all records, [S, R, V], with NaN for missing values.

        `by_record` has values [R or 1, V] for some of the records. Values [1, V] are those of the first
        replica.
        """
        series = np.full((self._waiting, self._data.replicas, self._data.variants), np.nan)
        for record, numbers in by_record.items():
            series[record, : len(numbers)] = numbers.numpy()
        return series


def _signal_weights(hypothesis: Weighted) -> torch.Tensor | None:
    """Return w [B, d] if the predictions of the hypothesis are functions of xᵀw, else None."""
    weights = hypothesis.weights()
    if weights is None and isinstance(hypothesis, Parametrised):
        edges = hypothesis.architecture.edges(hypothesis.tensors, slice(None), 1)
        return edges[0].weights.flatten(0, 1) if len(edges) == 1 else None
    return weights


def nothing_measured(data: Data) -> dict[str, NDArray[np.float64]]:
    """Return the measured values of a block without records: an empty array of losses."""
    return {"loss": np.empty((0, data.replicas, data.variants))}
