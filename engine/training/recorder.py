"""Records: what is measured of a hypothesis, for every replica and variant."""

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
    """A few consecutive records of a learner, for R replicas and V variants (rates, say)."""

    clocks: dict[str, NDArray[np.float64]]
    """How far training had come at every record [S], by the name of the clock, that of the x-axis first.

    [S, V] where variants differ, [S, R, V] where replicas do."""

    measures: dict[str, NDArray[np.float64]]
    """What was measured of every replica and variant, by name, [S, R, V]; NaN where it was not."""

    weights: dict[int, NDArray[np.floating[Any]]]
    """The weight vectors of the first replica and target [V, d], if predictions are linear, by record.

    Records are counted from the first of the block; only those that the trace keeps are there.
    """

    arrays: dict[str, dict[int, NDArray[np.float64]]]
    """Measures that have indices, by name and by record, where they were measured: [R or 1, V, *index].

    Records are counted from the first of the block.
    """

    inaccurate: NDArray[np.bool_] | None = None
    """At which records every replica has lost its accuracy [S, R], and is NaN for that; None if none can."""

    @property
    def loss(self) -> NDArray[np.float64]:
        """The average loss over rows and targets, [S, R, V]."""
        return self.measures["loss"]

    def of_variant(
        self, variant: int
    ) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Its clocks, [S] or [S, R] where replicas differ, and measures that are numbers, [S, R]."""
        clocks = {
            name: times if times.ndim == 1 else times[..., variant] for name, times in self.clocks.items()
        }
        return clocks, {name: values[:, :, variant] for name, values in self.measures.items()}

    def after(self, count: int) -> Block:
        """The same without the first so many records."""
        return Block(
            {name: times[count:] for name, times in self.clocks.items()},
            {name: values[count:] for name, values in self.measures.items()},
            _later(self.weights, count),
            {name: _later(values, count) for name, values in self.arrays.items()},
            None if self.inaccurate is None else self.inaccurate[count:],
        )


def _later(by_record: dict[int, Values], count: int) -> dict[int, Values]:
    """What there is of the records from number `count` on, counted from there."""
    return {record - count: values for record, values in by_record.items() if record >= count}


Time = float | NDArray[np.float64]
"""What a clock says: one number, or one for every variant [V], or replica and variant [R, V]."""


@runtime_checkable
class Keeping(Protocol):
    """A hypothesis that has the weights of the first replica and target at hand."""

    def kept(self) -> torch.Tensor:
        """These weights [V, d]."""


class Recorder:
    """Takes the records of a training run one by one: losses by its evaluator, and the weights that are kept.

    Every record is measured by itself, so that a curve does not depend on how a run is divided.
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
        """For a training run of so many `records`, by default with the cheapest evaluator.

        `order` [R, n]: which row is seen first, second, …; by default they are seen in their order. With
        `every_record` expensive measures are made at all of them: then somebody chose how many there are.
        """
        data, measures = inputs.data, inputs.measures
        self._data, self._hypothesis = data, hypothesis
        self._keeping = hypothesis if isinstance(hypothesis, Keeping) else None
        weights = hypothesis.weights() if by is None or self._keeping is None else self._keeping.kept()
        self._evaluator = by or evaluator(data, inputs.loss, weights, records, measures, order)
        sample = _signal_weights(hypothesis) if weights is None else weights
        self._kept = None if sample is None else kept_records(records, data.instances.d, sample.itemsize)
        self._loss, self._order = inputs.loss, order
        # Each record reads the schedules, so they are computed once, here.
        self._schedules = {
            measure: measure.schedule()
            for measure in measures
            if measure.name not in self._evaluator.serves
            and not (measure.needs().weights and weights is None)
        }
        self._every_record, self._last = every_record, records - 1
        self._limit = None if inputs.learner.tends_to is None else Limit(inputs.learner.tends_to, data)
        self._start: Params | None = None
        self._taken = 0
        self._clocks: defaultdict[str, list[Time]] = defaultdict(list)
        self._waiting = 0
        self._first: Mapping[Measure, torch.Tensor] | None = None
        self._weights: dict[int, torch.Tensor] = {}
        self._values: dict[str, dict[int, torch.Tensor]] = {measure.name: {} for measure in self._schedules}

    def take(self, clocks: Mapping[str, Time], seen: int | torch.Tensor) -> None:
        """Record the hypothesis when the clocks say this, after `seen` examples, one number or [B, 1]."""
        if self.keeps(self._taken):
            weights = self._first_weights() if self._keeping is None else self._keeping.kept()
            self._weights[self._waiting] = weights
        predicted = self._measure_others(seen) if self._schedules else None
        if (
            predicted is not None
            and isinstance(self._evaluator, ByPredictions)
            and self._evaluator.takes_known
        ):
            self._evaluator.take_known(predicted, seen)
        else:
            self._evaluator.take(self._hypothesis, seen)
        for name, time in clocks.items():
            self._clocks[name].append(time)
        self._taken += 1
        self._waiting += 1

    def keeps(self, record: int) -> bool:
        """Whether the first weights will be kept at a record."""
        return self._kept is not None and record in self._kept

    def looks(self, record: int) -> bool:
        """Whether more than the loss and the first weights will be needed of the hypothesis at a record."""
        return any(
            self._due(schedule, record) for schedule in self._schedules.values()
        ) or self._evaluator.looks(record)

    def _measure_others(self, seen: int | torch.Tensor) -> torch.Tensor | None:
        """What the measures say that the evaluator does not have, at records where it is their turn.

        Returns the predictions of all rows [B, n], if some of these were made of them.
        """
        of_start = self._taken == 0 and any(measure.needs().start for measure in self._schedules)
        if of_start and isinstance(self._hypothesis, Parametrised):
            self._start = {name: tensor.clone() for name, tensor in self._hypothesis.params.items()}
        due = [measure for measure, schedule in self._schedules.items() if self._due(schedule, self._taken)]
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
        )
        for measure in due:
            self._values[measure.name][self._waiting] = probe.value(measure).cpu()
        if self._first is None:
            self._first = probe.values
        return probe.known_predictions

    def _due(self, schedule: MeasureSchedule, record: int) -> bool:
        """Whether a measure of this schedule is made at a record."""
        if schedule.ends_only:
            return record in (0, self._last)
        return self._every_record or not schedule.expensive or looked_at(record)

    def _first_weights(self) -> torch.Tensor:
        """The weights of the first replica and target [V, d], for instances as the hypothesis has them."""
        weights = _signal_weights(self._hypothesis)
        assert weights is not None, "only hypotheses that have weights are recorded with them"
        members = self._data.variants * self._data.targets
        return weights[: members : self._data.targets].clone()

    def block(self) -> Block:
        """The records taken since the last block."""
        measured = self._evaluator.measured()
        measures = {name: torch.cat(parts).cpu().numpy() for name, parts in measured.items()}
        arrays: dict[str, dict[int, NDArray[np.float64]]] = {}
        for measure in self._schedules:
            values, self._values[measure.name] = self._values[measure.name], {}
            if measure.is_number:
                measures[measure.name] = self._everywhere(values)
            else:
                arrays[measure.name] = {record: value.numpy() for record, value in values.items()}
        weights: dict[int, NDArray[np.floating[Any]]] = {}
        if self._weights:
            together = torch.cat(list(self._weights.values()))
            turned = self._data.instances.of_replica(0).turn_back(together).cpu().numpy()
            by_record = turned.reshape(len(self._weights), -1, turned.shape[-1])
            weights = dict(zip(self._weights, by_record, strict=True))
        block = Block(
            {name: np.array(times, float) for name, times in self._clocks.items()},
            nothing_measured(self._data) | measures,
            weights,
            arrays,
        )
        self._clocks.clear()
        self._weights.clear()
        self._waiting = 0
        return block

    def _everywhere(self, values: dict[int, torch.Tensor]) -> NDArray[np.float64]:
        """Numbers [R or 1, V] by record as [S, R, V], NaN where there are none."""
        series = np.full((self._waiting, self._data.replicas, self._data.variants), np.nan)
        for record, value in values.items():
            series[record, : len(value)] = value.numpy()
        return series


def _signal_weights(hypothesis: Weighted) -> torch.Tensor | None:
    """The vectors w [B, d] with predictions f(xᵀw), whatever f is, or None if there are none."""
    weights = hypothesis.weights()
    if weights is None and isinstance(hypothesis, Parametrised):
        edges = hypothesis.architecture.edges(hypothesis.tensors, slice(None), 1)
        return edges[0].weights.flatten(0, 1) if len(edges) == 1 else None
    return weights


def nothing_measured(data: Data) -> dict[str, NDArray[np.float64]]:
    """The measures of no records."""
    return {"loss": np.empty((0, data.replicas, data.variants))}
