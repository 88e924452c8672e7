"""Records: what is measured of a hypothesis, for every replica and variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.params import Params
from engine.core.sizes import CELLS
from engine.core.spectrum import looked_at
from engine.hypotheses.hypothesis import Parametrised, Weighted
from engine.learners.limit import Limit
from engine.measures import Measure, Probe
from engine.measures.error import right_less_wrong
from engine.problems.data import Data
from engine.training.kept_weights import stride_of_weights
from engine.training.training_inputs import TrainingInputs

MOST_CELLS = 1 << 25
"""A curve counts the mistakes among so many predictions at every record; of more it takes some records."""


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

    @property
    def loss(self) -> NDArray[np.float64]:
        """The average loss over rows and targets, [S, R, V]."""
        return self.measures["loss"]


Measures = dict[str, list["torch.Tensor"]]
"""What was measured of some records, [S, R, V] in pieces, by name."""


Time = float | NDArray[np.float64]
"""What a clock says: one number, or one for every variant [V], or replica and variant [R, V]."""


class Evaluator(Protocol):
    """What computes the average losses of the records of a training run, and some measures beside them."""

    serves: ClassVar[frozenset[str]]
    """The measures that it computes, by name; others are computed from the hypothesis."""

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        """Measure a hypothesis as it is after `seen` examples, or keep what is needed for it."""

    def looks(self, record: int) -> bool:
        """Whether it will ask for more than losses at a record."""

    def measured(self) -> Measures:
        """What was measured since the last call."""


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
        weights = hypothesis.weights()
        self._evaluator = by or evaluator(data, inputs.loss, weights, records, measures, order)
        self._stride = (
            0 if weights is None else stride_of_weights(records, data.instances.d, weights.itemsize)
        )
        self._loss, self._order = inputs.loss, order
        self._others = [
            measure
            for measure in measures
            if measure.name not in self._evaluator.serves and not (measure.of_weights and weights is None)
        ]
        self._every_record, self._last = every_record, records - 1
        self._limit = None if inputs.learner.tends_to is None else Limit(inputs.learner.tends_to, data)
        self._start: Params | None = None
        self._taken = 0
        self._clocks: defaultdict[str, list[Time]] = defaultdict(list)
        self._waiting = 0
        self._first: Mapping[Measure, torch.Tensor] | None = None
        self._weights: dict[int, torch.Tensor] = {}
        self._values: dict[str, dict[int, torch.Tensor]] = {measure.name: {} for measure in self._others}

    def take(self, clocks: Mapping[str, Time], seen: int | torch.Tensor) -> None:
        """Record the hypothesis when the clocks say this, after `seen` examples, one number or [B, 1]."""
        if self.keeps(self._taken):
            kept = self._first_weights() if self._keeping is None else self._keeping.kept()
            self._weights[self._waiting] = kept
        if self._taken == 0 and any(one.of_start for one in self._others):
            assert isinstance(self._hypothesis, Parametrised), (
                "only learners with parameters are asked for it"
            )
            self._start = {name: tensor.clone() for name, tensor in self._hypothesis.params.items()}
        self._measure_others(seen)
        self._evaluator.take(self._hypothesis, seen)
        for name, time in clocks.items():
            self._clocks[name].append(time)
        self._taken += 1
        self._waiting += 1

    def keeps(self, record: int) -> bool:
        """Whether the first weights will be kept at a record."""
        return self._stride > 0 and record % self._stride == 0

    def looks(self, record: int) -> bool:
        """Whether more than the loss and the first weights will be asked of the hypothesis at a record."""
        return any(self._due(one, record) for one in self._others) or self._evaluator.looks(record)

    def _measure_others(self, seen: int | torch.Tensor) -> None:
        """What the measures say that the evaluator does not have, at records where it is their turn."""
        due = [measure for measure in self._others if self._due(measure, self._taken)]
        if due:
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

    def _due(self, measure: Measure, record: int) -> bool:
        """Whether a measure is made at a record."""
        if measure.ends_only:
            return record in (0, self._last)
        return self._every_record or not measure.expensive or looked_at(record)

    def _first_weights(self) -> torch.Tensor:
        """The weights of the first replica and target [V, d], for instances as the hypothesis has them."""
        weights = self._hypothesis.weights()
        assert weights is not None, "only hypotheses that have weights are asked for them"
        some = self._data.variants * self._data.targets
        return weights[: some : self._data.targets].clone()

    def block(self) -> Block:
        """The records taken since the last block."""
        found = self._evaluator.measured()
        measures = {name: torch.cat(parts).cpu().numpy() for name, parts in found.items()}
        arrays: dict[str, dict[int, NDArray[np.float64]]] = {}
        for measure in self._others:
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
        whole = np.full((self._waiting, self._data.replicas, self._data.variants), np.nan)
        for record, value in values.items():
            whole[record, : len(value)] = value.numpy()
        return whole


def asks(measures: tuple[Measure, ...], name: str) -> bool:
    """Whether a measure of this name is among them."""
    return any(measure.name == name for measure in measures)


def seen_counts(data: Data, order: torch.Tensor | None, seen: int | torch.Tensor) -> torch.Tensor:
    """How often every row is among the first `seen` examples, one number or [B, 1]; [B, n] or [1, n].

    `order` [R, n] says which row is seen first, second, …; without it they are seen in their order.
    """
    if order is None:
        rows = torch.arange(data.instances.n, device=data.labels.device)
        return (rows < seen).view(-1, data.instances.n).double()
    first = order[:, :seen]
    counts = torch.zeros_like(order, dtype=torch.float64)
    counts.scatter_add_(1, first, torch.ones_like(first, dtype=torch.float64))
    return counts.repeat_interleave(data.variants * data.targets, 0)


def nothing_measured(data: Data) -> dict[str, NDArray[np.float64]]:
    """The measures of no records."""
    return {"loss": np.empty((0, data.replicas, data.variants))}


def evaluator(
    data: Data,
    loss: Cost,
    weights: torch.Tensor | None,
    records: int,
    measures: tuple[Measure, ...],
    order: torch.Tensor | None,
) -> Evaluator:
    """The cheapest way to the losses of a training run whose hypotheses have such weights.

    Where labels are xᵀw*, the mean square loss of xᵀw is (w − w*)ᵀ(XᵀX/n)(w − w*), without any prediction.
    """
    wanted = loss.is_square and weights is not None and not asks(measures, "train")
    if wanted and weights is not None and data.w_star is not None:
        square = data.instances.mean_square(data.from_w_star(weights))
        if square is not None:
            return ByWeights(data, loss, records, measures)
    return ByPredictions(data, loss, records, measures, order)


class ByPredictions:
    """Any loss, from the predictions of all rows, averaged for many records at once.

    Predictions are made record by record, or of the weights of these records together where that is cheaper.
    Those of losses that are not steady are averaged record by record.
    """

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error", "train", "unseen"})

    def __init__(
        self,
        data: Data,
        loss: Cost,
        records: int,
        measures: tuple[Measure, ...],
        order: torch.Tensor | None,
    ) -> None:
        self._data, self._loss, self._order = data, loss, order
        self._of_seen = asks(measures, "train")
        self._mistakes = Mistakes(data, loss, records, measures)
        self._waiting: list[torch.Tensor] = []  # predictions, or weights to be asked for them
        self._of_weights = False
        self._counts: list[torch.Tensor] = []
        self._measures: defaultdict[str, list[torch.Tensor]] = defaultdict(list)

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        if self._of_seen:
            self._counts.append(seen_counts(self._data, self._order, seen))
        weights = hypothesis.weights() if self._data.instances.better_together else None
        self._of_weights = weights is not None
        self._waiting.append(hypothesis.predict(self._data.instances) if weights is None else weights)
        if len(self._waiting) * max(self._data.labels.numel(), self._waiting[0].numel()) >= CELLS:
            self._measure()

    def looks(self, record: int) -> bool:
        return True

    def measured(self) -> Measures:
        if self._waiting:
            self._measure()
        found, self._measures = self._measures, defaultdict(list)
        return found | self._mistakes.measured()

    def _measure(self) -> None:
        if self._of_weights:
            predictions = self._data.instances.products_of_each(self._waiting)  # [S, B, n]
        else:
            predictions = self._waiting[0][None] if len(self._waiting) == 1 else torch.stack(self._waiting)
        self._waiting.clear()
        self._mistakes.take_each(predictions)
        together = len(predictions) if self._loss.steady else 1
        for some in torch.split(predictions, together):
            averages = self._loss.average(some, self._data.labels)
            self._measures["loss"].append(self._data.over_targets(averages))
            if self._counts:
                self._measure_seen(some, torch.stack(self._counts[:together]))
                del self._counts[:together]

    def _measure_seen(self, predictions: torch.Tensor, counts: torch.Tensor) -> None:
        """The losses over rows seen and unseen, with the counts [S, B or 1, n] of each row."""
        losses = self._loss.value(predictions, self._data.labels)
        for name, shares in (("train", counts), ("unseen", (counts == 0).double())):
            means = (losses * shares).sum(2) / shares.sum(2)
            self._measures[name].append(self._data.over_targets(means))


class ByWeights:
    """Mean square loss from the distance of the weights to those that made the labels."""

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        self._data = data
        self._mistakes = Mistakes(data, loss, records, measures)
        self._losses: list[torch.Tensor] = []

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        weights = hypothesis.weights()
        assert weights is not None, "an evaluator is chosen for a training run whose hypotheses have weights"
        loss = self._data.instances.mean_square(self._data.from_w_star(weights))
        assert loss is not None, "an evaluator is chosen for instances that have a second moment"
        self._losses.append(loss)
        self._mistakes.take(lambda: hypothesis.predict(self._data.instances))

    def looks(self, record: int) -> bool:
        return self._mistakes.counts(record)

    def measured(self) -> Measures:
        found = {"loss": [self._data.over_targets(torch.stack(self._losses))]} if self._losses else {}
        self._losses = []
        return found | self._mistakes.measured()


class Mistakes:
    """The shares of rows that are mistaken, if labels are two classes.

    They are counted at all records of a small training run, and at some of a large one, where they would cost
    more than its losses.
    """

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        self._data = data
        self._counted = asks(measures, "error")
        self._loss = loss
        self._everywhere = counted_everywhere(data, records)
        self._first, self._record = 0, 0
        self._waiting: list[torch.Tensor] = []
        self._records: list[int] = []
        self._shares: list[torch.Tensor] = []

    def counts(self, record: int) -> bool:
        """Whether mistakes are counted at a record."""
        return self._counted and (self._everywhere or looked_at(record, dense=3))

    def take(self, predict: Callable[[], torch.Tensor]) -> None:
        """Count the mistakes among predictions [B, n], if it is this record's turn."""
        if self.counts(self._record):
            self._records.append(self._record - self._first)
            self._waiting.append(predict())
            if len(self._waiting) * self._data.labels.numel() >= CELLS:
                self._count_waiting()
        self._record += 1

    def take_each(self, predictions: torch.Tensor) -> None:
        """Count the mistakes among predictions [S, B, n] of S records, at those whose turn it is."""
        turns = [number for number in range(len(predictions)) if self.counts(self._record + number)]
        if turns:
            self._records += [self._record - self._first + number for number in turns]
            self._count(predictions if len(turns) == len(predictions) else predictions[turns])
        self._record += len(predictions)

    def count_by(self, right: Callable[[], torch.Tensor]) -> None:
        """The same from how many are right less how many are wrong [B]."""
        if self.counts(self._record):
            self._records.append(self._record - self._first)
            self._shares.append(self._data.over_targets((1 - right()[None] / self._data.instances.n) / 2))
        self._record += 1

    def measured(self) -> Measures:
        """The shares of the records since the last call."""
        if self._waiting:
            self._count_waiting()
        records, self._first = self._record - self._first, self._record
        if not self._counted or not records:
            return {}
        shape = records, self._data.replicas, self._data.variants
        shares = torch.full(shape, torch.nan, dtype=torch.float64, device=self._data.labels.device)
        if self._records:
            shares[self._records] = torch.cat(self._shares)
        self._records, self._shares = [], []
        return {"error": [shares]}

    def _count_waiting(self) -> None:
        self._count(torch.stack(self._waiting))
        self._waiting.clear()

    def _count(self, predictions: torch.Tensor) -> None:
        found = right_less_wrong(predictions, self._data, self._loss)
        right = found.sum(2).double() / found.shape[2]  # whole numbers are exact; fractions are in float64
        self._shares.append(self._data.over_targets((1 - right) / 2))


def counted_everywhere(data: Data, records: int) -> bool:
    """Whether a training run is so small that its mistakes are counted at every record."""
    return records * data.labels.numel() <= MOST_CELLS
