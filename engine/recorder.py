"""Records: the loss of a hypothesis on all rows, for every replica and variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.costs import Cost
from engine.hypothesis import Hypothesis
from engine.lazy import torch
from engine.losses.square import Square
from engine.problems.data import Data
from engine.spectrum import looked_at, singular_values
from engine.trace import stride_of_weights

CELLS = 1 << 18
"""At most so many predictions are held at once while losses are computed."""

MOST_CELLS = 1 << 25
"""A curve counts the mistakes among so many predictions at every record; of more it takes some records."""


class Block(NamedTuple):
    """A few consecutive records of a learner, for R replicas and V variants (rates, say)."""

    x: NDArray[np.float64]
    """Where on the x-axis the records lie, [S]."""

    loss: NDArray[np.float64]
    """Average loss over rows and targets, [S, R, V]."""

    measures: dict[str, NDArray[np.float64]]
    """What else is measured of every replica and variant, by name, [S, R, V]; NaN where it was not.

    error: the share of rows that are mistaken, for labels ±1 by the sign of a prediction, for 0 and 1 by its
      side of the loss's boundary. A prediction on the boundary counts one half. Rounding moves it off there,
      and on unseen Hadamard rows even to the right side: up to √eps away still counts as on it.
    train: the average loss over the examples seen; NaN before the first.
    unseen: the average loss over the rows never seen; NaN after the last.
    """

    weights: dict[int, NDArray[np.floating[Any]]]
    """The weight vectors of the first replica and target [V, d], if predictions are linear, by record.

    Records are counted from the first of the block; only those that the trace keeps are there.
    """

    spectrum: NDArray[np.float64] | None
    """Singular values of the first replica's weights across targets, [S, V, r]; NaN where not computed."""


Measures = dict[str, list["torch.Tensor"]]
"""What was measured of some records, [S, R, V] in pieces, by name: the loss, and the measures of a block."""


class Evaluator(Protocol):
    """A way to the average losses of the records of a course, and to what is measured beside them."""

    def take(self, hypothesis: Hypothesis, seen: int | torch.Tensor) -> None:
        """Measure a hypothesis as it is after `seen` examples, or keep what is needed for it."""

    def measured(self) -> Measures:
        """What was measured since the last call."""


class Recorder:
    """Takes the records of a course one by one: losses by its evaluator, and the weights that are kept.

    Every record is measured by itself, so that a curve does not depend on how a run is divided.
    """

    def __init__(
        self, data: Data, loss: Cost, hypothesis: Hypothesis, records: int, order: torch.Tensor | None = None
    ) -> None:
        """For a course of so many `records`.

        `order` [R, n]: which row is seen first, second, …; by default they are seen in their order.
        """
        self._data, self._hypothesis = data, hypothesis
        weights = hypothesis.weights()
        self._evaluator = evaluator(data, loss, weights, records, order)
        self._stride = (
            0 if weights is None else stride_of_weights(records, data.instances.d, weights.itemsize)
        )
        self._taken = 0
        self._x: list[float] = []
        self._weights: dict[int, torch.Tensor] = {}
        self._spectra: list[torch.Tensor] = []

    def take(self, x: float, seen: int | torch.Tensor) -> None:
        """Record the hypothesis at a place on the x-axis, after `seen` examples, one number or [B, 1]."""
        if self._stride:
            self._look(self._taken % self._stride == 0, self._data.spectrum and looked_at(self._taken))
        self._evaluator.take(self._hypothesis, seen)
        self._x.append(x)
        self._taken += 1

    def _look(self, keep: bool, spectrum: bool) -> None:
        """Keep the first replica's weights of the first target, or their spectrum across targets."""
        first = self._data.variants * self._data.targets
        weights = self._hypothesis.weights() if keep or spectrum else None
        if keep and weights is not None:
            of_first_targets = self._data.instances.turn_back(weights[:: self._data.targets])
            kept = of_first_targets[: self._data.variants]
            self._weights[len(self._x)] = kept if len(kept) == len(weights) else kept.clone()
        if self._data.spectrum:
            shape = self._data.variants, self._data.targets, self._data.instances.d
            if spectrum and weights is not None:
                self._spectra.append(singular_values(weights[:first].view(shape)).cpu())
            else:
                self._spectra.append(torch.full((shape[0], min(shape[1:])), torch.nan, dtype=torch.float64))

    def block(self) -> Block:
        """The records taken since the last block."""
        found = self._evaluator.measured()
        measures = {name: torch.cat(parts).cpu().numpy() for name, parts in found.items()}
        block = Block(
            np.array(self._x),
            measures.pop("loss", np.empty((0, self._data.replicas, self._data.variants))),
            measures,
            {record: weights.cpu().numpy() for record, weights in self._weights.items()},
            torch.stack(self._spectra).numpy() if self._spectra else None,
        )
        for taken in (self._x, self._weights, self._spectra):
            taken.clear()
        return block


def evaluator(
    data: Data, loss: Cost, weights: torch.Tensor | None, records: int, order: torch.Tensor | None
) -> Evaluator:
    """The cheapest way to the losses of a course whose hypotheses have such weights.

    Where labels are xᵀw*, the mean square loss of xᵀw is (w − w*)ᵀ(XᵀX/n)(w − w*), without any prediction.
    """
    wanted = isinstance(loss, Square) and weights is not None and not data.train_loss
    if wanted and weights is not None and data.star is not None:
        square = data.instances.mean_square(data.from_star(weights))
        if square is not None:
            return ByWeights(data, loss, records)
    return ByPredictions(data, loss, records, order)


class ByPredictions:
    """Any loss, from the predictions of all rows: made record by record, averaged for many at once."""

    def __init__(self, data: Data, loss: Cost, records: int, order: torch.Tensor | None) -> None:
        self._data, self._loss, self._order = data, loss, order
        self._mistakes = Mistakes(data, loss, records)
        self._waiting: list[torch.Tensor] = []
        self._counts: list[torch.Tensor] = []
        self._measures: defaultdict[str, list[torch.Tensor]] = defaultdict(list)

    def take(self, hypothesis: Hypothesis, seen: int | torch.Tensor) -> None:
        if self._data.train_loss:
            self._counts.append(self._count(seen))
        predictions = hypothesis.predict(self._data.instances)
        self._waiting.append(predictions)
        self._mistakes.take(lambda: predictions)
        if len(self._waiting) * self._data.labels.numel() >= CELLS:
            self._measure()

    def measured(self) -> Measures:
        if self._waiting:
            self._measure()
        found, self._measures = self._measures, defaultdict(list)
        return found | self._mistakes.measured()

    def _count(self, seen: int | torch.Tensor) -> torch.Tensor:
        """How often every row is among the first `seen` examples, [B, n] or [1, n]."""
        data = self._data
        if self._order is None:
            rows = torch.arange(data.instances.n, device=data.labels.device)
            return (rows < seen).view(-1, data.instances.n).double()
        first = self._order[:, :seen]
        counts = torch.zeros_like(self._order, dtype=torch.float64)
        counts.scatter_add_(1, first, torch.ones_like(first, dtype=torch.float64))
        return counts.repeat_interleave(data.variants * data.targets, 0)

    def _measure(self) -> None:
        alone = len(self._waiting) == 1
        predictions = self._waiting[0][None] if alone else torch.stack(self._waiting)  # [S, B, n]
        self._waiting.clear()
        averages = self._loss.average(predictions, self._data.labels)
        self._measures["loss"].append(over_targets(self._data, averages))
        if self._counts:
            losses = self._loss.value(predictions, self._data.labels)
            counts = torch.stack(self._counts)  # [S, B or 1, n]
            self._counts.clear()
            for name, shares in (("train", counts), ("unseen", (counts == 0).double())):
                means = (losses * shares).sum(2) / shares.sum(2)
                self._measures[name].append(over_targets(self._data, means))


class ByWeights:
    """Mean square loss from the distance of the weights to those that made the labels."""

    def __init__(self, data: Data, loss: Cost, records: int) -> None:
        self._data = data
        self._mistakes = Mistakes(data, loss, records)
        self._losses: list[torch.Tensor] = []

    def take(self, hypothesis: Hypothesis, seen: int | torch.Tensor) -> None:
        weights = hypothesis.weights()
        assert weights is not None, "an evaluator is chosen for a course whose hypotheses have weights"
        loss = self._data.instances.mean_square(self._data.from_star(weights))
        assert loss is not None, "an evaluator is chosen for instances that have a second moment"
        self._losses.append(loss)
        self._mistakes.take(lambda: hypothesis.predict(self._data.instances))

    def measured(self) -> Measures:
        found = {"loss": [over_targets(self._data, torch.stack(self._losses))]} if self._losses else {}
        self._losses = []
        return found | self._mistakes.measured()


class Mistakes:
    """The shares of rows that are mistaken, if labels are two classes.

    They are counted at all records of a small course, and at some of a large one, where they would cost more
    than its losses.
    """

    def __init__(self, data: Data, loss: Cost, records: int) -> None:
        self._data = data
        self._counted = data.values != "any"
        bits = data.values == "bits"
        self._boundary = loss.bit_boundary if bits else 0.0
        self._signs = 2 * data.labels - 1 if bits else data.labels
        self._everywhere = records * data.labels.numel() <= MOST_CELLS
        self._first, self._record = 0, 0
        self._waiting: list[torch.Tensor] = []
        self._records: list[int] = []
        self._shares: list[torch.Tensor] = []

    def take(self, predict: Callable[[], torch.Tensor]) -> None:
        """Count the mistakes among predictions [B, n], if it is this record's turn."""
        if self._counted and (self._everywhere or looked_at(self._record, dense=4)):
            self._records.append(self._record - self._first)
            self._waiting.append(predict())
            if len(self._waiting) * self._data.labels.numel() >= CELLS:
                self._count()
        self._record += 1

    def measured(self) -> Measures:
        """The shares of the records since the last call."""
        if self._waiting:
            self._count()
        records, self._first = self._record - self._first, self._record
        if not self._counted or not records:
            return {}
        shape = records, self._data.replicas, self._data.variants
        shares = torch.full(shape, torch.nan, dtype=torch.float64, device=self._data.labels.device)
        if self._records:
            shares[self._records] = torch.cat(self._shares)
        self._records, self._shares = [], []
        return {"error": [shares]}

    def _count(self) -> None:
        margins = torch.stack(self._waiting).sub_(self._boundary).mul_(self._signs)  # [S, B, n]
        self._waiting.clear()
        tie = margins.abs() <= torch.finfo(margins.dtype).eps ** 0.5
        right = (
            margins.sign_().masked_fill_(tie, 0.0).sum(2).double() / margins.shape[2]
        )  # exact: whole numbers
        self._shares.append(over_targets(self._data, (1 - right) / 2))


def over_targets(data: Data, values: torch.Tensor) -> torch.Tensor:
    """Values [S, B] averaged over targets, [S, R, V]."""
    return values.view(len(values), data.replicas, data.variants, data.targets).mean(3)
