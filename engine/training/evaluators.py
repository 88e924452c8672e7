"""Evaluators, which compute average losses and shares of mistakes during a training run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import ClassVar, Protocol

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.linear_algebra import looked_at
from engine.core.memory import CELLS, DERIVED, Sizes
from engine.hypotheses.hypothesis import Weighted
from engine.measures import Measure
from engine.measures.error import right_less_wrong
from engine.problems.data import Data
from engine.problems.instances import CACHE

Measures = dict[str, list["torch.Tensor"]]
"""Measured values of S records, by the name of the measure.

The pieces in each list, joined along the first dimension, have the shape [S, R, V].
"""


class Evaluator(Protocol):
    """Interface of objects that compute average losses, and some other measures, during a training run."""

    serves: ClassVar[frozenset[str]]
    """Names of the measures that the evaluator computes. The recorder computes all other measures."""

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        """Measure a hypothesis after `seen` examples: now, or later from its stored weights."""

    def looks(self, record: int) -> bool:
        """Return whether evaluation number `record` reads weights or predictions of the hypothesis."""

    def measured(self) -> Measures:
        """Return the values of all evaluations since the last call of this method."""


def includes(measures: tuple[Measure, ...], *names: str) -> bool:
    """Return whether any of the measures has one of these names."""
    return any(measure.name in names for measure in measures)


TOGETHER = 256
"""Maximum number of weight vectors that are multiplied by the instances in one product.

Separate products, each of which reads the matrix again, take 3 to 7 times as long.
"""


class Blocks:
    """Buffer that collects the weights [B, d] of several evaluation points for one matrix product.

    Blocks have a fixed size. The number of an evaluation point determines its position in a block, and empty
    positions are filled with zeros. So all matrix products of weights and instances have the same shape. Then
    the bits of the results do not depend on how calls of `advance` divide a training run.
    """

    def __init__(self, size: int) -> None:
        self._size, self._first = size, 0
        self._waiting: list[torch.Tensor] = []

    def add(self, weights: torch.Tensor) -> None:
        self._waiting.append(weights)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        return self._first + len(self._waiting) == self._size

    def multiplied(self, product: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """Apply `product` to the buffered weights, empty the buffer, and return the results.

        `product` maps a block of weights [size, B, d] to [size, …]. Positions of the block without buffered
        weights hold zeros, and their results are dropped.
        """
        count = len(self._waiting)
        waiting = self._waiting[0][None] if count == 1 else torch.stack(self._waiting)
        self._waiting.clear()
        if count == self._size:
            return product(waiting)
        block = waiting.new_zeros(self._size, *waiting.shape[1:])
        filled = slice(self._first, self._first + count)
        block[filled] = waiting
        self._first = (self._first + count) % self._size
        return product(block)[filled]


MOST_CELLS = 1 << 25
"""Mistakes are counted at every record if a run makes at most this many predictions in total."""


class Mistakes:
    """Counter of misclassified rows, for labels of two classes.

    In a small training run, mistakes are counted at every evaluation. In a large run, counting would take
    longer than computing the losses, so mistakes are counted at some evaluations only.
    """

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        self._data = data
        self._counted = includes(measures, "error")
        self._loss = loss
        self._everywhere = counted_everywhere(data, records)
        self._first, self._record = 0, 0
        self._waiting: list[torch.Tensor] = []
        self._records: list[int] = []
        self._shares: list[torch.Tensor] = []

    def counts(self, record: int) -> bool:
        return self._counted and (self._everywhere or looked_at(record, dense=3))

    def take(self, predict: Callable[[], torch.Tensor]) -> None:
        """Process the next evaluation. Call `predict()` [B, n] only if mistakes are counted there."""
        if self.counts(self._record):
            self._records.append(self._record - self._first)
            self._waiting.append(predict())
            # Predictions of small records are collected, because a call of torch takes longer than counting
            # the mistakes of a few rows.
            if len(self._waiting) * self._data.labels.numel() >= CELLS:
                self._count_waiting_mistakes()
        self._record += 1

    def take_each(self, predictions: torch.Tensor) -> None:
        """Process the next S evaluations, whose predictions are [S, B, n]."""
        turns = [number for number in range(len(predictions)) if self.counts(self._record + number)]
        if turns:
            self._records += [self._record - self._first + turn for turn in turns]
            self._count_mistakes(predictions if len(turns) == len(predictions) else predictions[turns])
        self._record += len(predictions)

    def count_by(self, right: Callable[[], torch.Tensor]) -> None:
        """Process the next evaluation. `right()` [B] is the number of right minus wrong predictions."""
        if self.counts(self._record):
            self._records.append(self._record - self._first)
            self._shares.append(self._data.over_targets((1 - right()[None] / self._data.instances.n) / 2))
        self._record += 1

    def measured(self) -> Measures:
        """Return the shares of misclassified rows at all evaluations since the last call of this method.

        A share is NaN at an evaluation where mistakes are not counted.
        """
        if self._waiting:
            self._count_waiting_mistakes()
        records, self._first = self._record - self._first, self._record
        if not self._counted or not records:
            return {}
        shape = records, self._data.replicas, self._data.variants
        shares = torch.full(shape, torch.nan, dtype=torch.float64, device=self._data.labels.device)
        if self._records:
            shares[self._records] = torch.cat(self._shares)
        self._records, self._shares = [], []
        return {"error": [shares]}

    def _count_waiting_mistakes(self) -> None:
        self._count_mistakes(
            self._waiting[0][None] if len(self._waiting) == 1 else torch.stack(self._waiting)
        )
        self._waiting.clear()

    def _count_mistakes(self, predictions: torch.Tensor) -> None:
        sides = right_less_wrong(predictions, self._data, self._loss)
        right = sides.sum(2).double() / sides.shape[2]  # the sum of integers is exact; divide in float64
        self._shares.append(self._data.over_targets((1 - right) / 2))


def counted_everywhere(data: Data, records: int) -> bool:
    """Return whether a run has so few evaluation points that mistakes are counted at all of them."""
    return records * data.labels.numel() <= MOST_CELLS


class ByPredictions:
    """Evaluator for any loss, which averages the losses of the predictions of all rows.

    It computes predictions for each evaluation point or, if this is faster, for several evaluation points at
    once. If a loss is `steady`, the bits of a loss value do not depend on its position in the tensor. Such a
    loss is averaged for many evaluation points at once. Any other loss is averaged for one evaluation point
    at a time.
    """

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error", "train", "unseen"})

    def __init__(
        self,
        data: Data,
        loss: Cost,
        records: int,
        measures: tuple[Measure, ...],
        order: torch.Tensor | None,
        together: int = 1,
    ) -> None:
        """Prepare to evaluate `together` evaluation points with one matrix product."""
        self._data, self._loss, self._order = data, loss, order
        self._of_seen = includes(measures, "train", "unseen")
        self._mistakes = Mistakes(data, loss, records, measures)
        self._waiting: list[torch.Tensor] = []
        self._blocks = Blocks(together) if together > 1 else None
        self._counts: list[torch.Tensor] = []
        self._measures: defaultdict[str, list[torch.Tensor]] = defaultdict(list)

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        if self._of_seen:
            self._counts.append(seen_counts(self._data, self._order, seen))
        if self._blocks is not None:
            weights = hypothesis.weights()
            assert weights is not None, "blocks are chosen for a training run whose hypotheses have weights"
            self._blocks.add(weights)
            if self._blocks.full:
                self._measure_losses(self._blocks.multiplied(self._data.instances.products_of_each))
            return
        self._hold_predictions(hypothesis.predict(self._data.instances))

    def take_known(self, predictions: torch.Tensor, seen: int | torch.Tensor) -> None:
        """Evaluate a hypothesis whose predictions [B, n] of all rows are already known."""
        if self._of_seen:
            self._counts.append(seen_counts(self._data, self._order, seen))
        self._hold_predictions(predictions)

    @property
    def takes_known(self) -> bool:
        """Whether each call of `take` computes all predictions, so that `take_known` can replace the call."""
        return self._blocks is None

    def _hold_predictions(self, predictions: torch.Tensor) -> None:
        self._waiting.append(predictions)
        if len(self._waiting) * self._data.labels.numel() >= CELLS:
            self._measure_waiting_predictions()

    def looks(self, record: int) -> bool:
        return True

    def measured(self) -> Measures:
        if self._waiting:
            self._measure_waiting_predictions()
        if self._blocks is not None and len(self._blocks):
            self._measure_losses(self._blocks.multiplied(self._data.instances.products_of_each))
        measures, self._measures = self._measures, defaultdict(list)
        return measures | self._mistakes.measured()

    def _measure_waiting_predictions(self) -> None:
        self._measure_losses(
            self._waiting[0][None] if len(self._waiting) == 1 else torch.stack(self._waiting)
        )
        self._waiting.clear()

    def _measure_losses(self, predictions: torch.Tensor) -> None:
        self._mistakes.take_each(predictions)
        # The bits of an unsteady loss depend on the position in a tensor. A curve must not depend on where
        # calls of `advance` end.
        together = len(predictions) if self._loss.steady else 1
        for group in torch.split(predictions, together):
            averages = self._loss.average(group, self._data.labels)
            self._measures["loss"].append(self._data.over_targets(averages))
            if self._counts:
                self._measure_seen_and_unseen(group, torch.stack(self._counts[:together]))
                del self._counts[:together]

    def _measure_seen_and_unseen(self, predictions: torch.Tensor, counts: torch.Tensor) -> None:
        """Average losses over the rows seen and over the rows not seen.

        `counts` [S, B or 1, n] is the number of times that each of the n rows was seen.
        """
        losses = self._loss.value(predictions, self._data.labels)
        for measure, shares in (("train", counts), ("unseen", (counts == 0).double())):
            means = (losses * shares).sum(2) / shares.sum(2)
            self._measures[measure].append(self._data.over_targets(means))


def seen_counts(data: Data, order: torch.Tensor | None, seen: int | torch.Tensor) -> torch.Tensor:
    """Count how often each row is among the first `seen` examples: [B, n] or [1, n].

    `seen` is one number or [B, 1]. `order` [R, n] lists the rows in the order of training; None means the
    order of the data.
    """
    if order is None:
        rows = torch.arange(data.instances.n, device=data.labels.device)
        return (rows < seen).view(-1, data.instances.n).double()
    first = order[:, :seen]
    counts = torch.zeros_like(order, dtype=torch.float64)
    counts.scatter_add_(1, first, torch.ones_like(first, dtype=torch.float64))
    return counts.repeat_interleave(data.variants * data.targets, 0)


class ByWeights:
    """Evaluator that computes the mean square loss of labels xᵀw* as a quadratic function of w − w*."""

    serves: ClassVar[frozenset[str]] = frozenset({"loss", "error"})

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        self._data = data
        self._mistakes = Mistakes(data, loss, records, measures)
        self._losses: list[torch.Tensor] = []  # [S, B] each
        together = min(records, TOGETHER // len(data.labels))
        self._blocks = Blocks(max(1, together) if data.instances.has_moment else 1)

    def take(self, hypothesis: Weighted, seen: int | torch.Tensor) -> None:
        weights = hypothesis.weights()
        assert weights is not None, "an evaluator is chosen for a run whose hypotheses have weights"
        self._blocks.add(weights)
        if self._blocks.full:
            self._losses.append(self._blocks.multiplied(self._mean_losses))
        self._mistakes.take(lambda: hypothesis.predict(self._data.instances))

    def looks(self, record: int) -> bool:
        return self._mistakes.counts(record)

    def measured(self) -> Measures:
        if len(self._blocks):
            self._losses.append(self._blocks.multiplied(self._mean_losses))
        measures = {"loss": [self._data.over_targets(torch.cat(self._losses))]} if self._losses else {}
        self._losses = []
        return measures | self._mistakes.measured()

    def _mean_losses(self, weights: torch.Tensor) -> torch.Tensor:
        losses = self._data.instances.mean_square(self._data.from_w_star(weights))
        assert losses is not None, "an evaluator is chosen for instances that have a second moment"
        return losses


class AroundZero(ByWeights):
    """Evaluator that computes the mean square loss as wᵀ(XᵀX/n)w − 2 wᵀ(Xᵀy/n) + ‖y‖²/n, in float64.

    The terms partly cancel. The resulting error has the size of rounding errors in float64, which are below
    the precision of float32 weights.
    """

    def __init__(self, data: Data, loss: Cost, records: int, measures: tuple[Measure, ...]) -> None:
        super().__init__(data, loss, records, measures)
        self._products, self._constant = data.instances.products_with(data.labels)

    def _mean_losses(self, weights: torch.Tensor) -> torch.Tensor:
        weights = weights.double()
        squares = self._data.instances.mean_square(weights)
        assert squares is not None, "an evaluator is chosen for instances that have a second moment"
        slopes: torch.Tensor = torch.linalg.vecdot(weights, self._products)
        # Near 0, the terms cancel, and rounding can make the loss negative, which has no logarithm.
        return (squares - 2 * slopes + self._constant).clamp_(min=0)


SHARE = 2
"""Least ratio of the number of entries of the instances to the number of predictions of a block."""


def evaluator(
    data: Data,
    loss: Cost,
    weights: torch.Tensor | None,
    records: int,
    measures: tuple[Measure, ...],
    order: torch.Tensor | None,
) -> Evaluator:
    """Return the fastest evaluator for a training run.

    For predictions xᵀw, the mean square loss is a quadratic function of w. This function can be computed
    without predictions. For labels xᵀw*, the evaluator computes it from w − w*. For other labels, it must be
    computed from w, and loses digits by cancellation. So the evaluator then uses it only for w in float32,
    and computes it in float64.
    """
    if loss.is_square and weights is not None and not includes(measures, "train", "unseen"):
        if data.w_star is not None:
            if data.instances.mean_square(data.from_w_star(weights)) is not None:
                return ByWeights(data, loss, records, measures)
        elif _pays_to_use_gram(data, weights, records):
            return AroundZero(data, loss, records, measures)
    together = 1 if weights is None else _points_per_product(data, records)
    return ByPredictions(data, loss, records, measures, order, together)


def _pays_to_use_gram(data: Data, weights: torch.Tensor, records: int) -> bool:
    """Return whether to compute losses from XᵀX instead of predictions Xw.

    Both methods are equally exact if the weights are in float32, because XᵀX is in float64. XᵀX is faster if
    at least d weight vectors are evaluated.
    """
    instances = data.instances
    vectors = records * len(data.labels) // data.replicas
    return instances.has_moment and weights.dtype == torch.float32 and vectors >= instances.d


def _points_per_product(data: Data, records: int) -> int:
    if not data.instances.better_together:
        return 1
    limit = min(TOGETHER, data.instances.d // SHARE) // len(data.labels)
    return max(1, min(records, limit))


def bytes_held(sizes: Sizes) -> int:
    """Return an estimate of the memory in bytes that an evaluator needs.

    The estimate is for instances that are a matrix. It counts a Gram matrix [d, d] for each replica if there
    are at least 2d instances. If the matrix exceeds the processor's cache, the estimate also counts
    predictions for several evaluation points.
    """
    moment = DERIVED * sizes.replicas * sizes.d**2 if sizes.n >= 2 * sizes.d else 0
    if sizes.replicas * sizes.n * sizes.d * sizes.item <= CACHE:
        return moment
    return moment + 2 * sizes.item * sizes.n * min(TOGETHER, sizes.d // SHARE)
