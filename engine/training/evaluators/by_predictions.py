"""The losses of any learner, from its predictions of all rows."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.memory import CELLS
from engine.hypotheses.hypothesis import Weighted
from engine.measures import Measure
from engine.problems.data import Data
from engine.training.evaluators import Measures, includes
from engine.training.evaluators.blocks import Blocks
from engine.training.evaluators.mistakes import Mistakes


class ByPredictions:
    """Any loss, from the predictions of all rows, averaged for many records at once.

    Predictions are made record by record, or of the weights of a block of records together where that is
    cheaper. Those of losses that are not steady are averaged record by record.
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
        """With the weights of so many records `together`, if these are more than one."""
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
                self._measure(self._blocks.taken(self._data.instances.products_of_each))
            return
        self._take(hypothesis.predict(self._data.instances))

    def take_known(self, predictions: torch.Tensor, seen: int | torch.Tensor) -> None:
        """Measure a hypothesis by its predictions of all rows [B, n], which somebody has made."""
        if self._of_seen:
            self._counts.append(seen_counts(self._data, self._order, seen))
        self._take(predictions)

    @property
    def takes_known(self) -> bool:
        """Whether `take` would make these predictions itself, and at once."""
        return self._blocks is None

    def _take(self, predictions: torch.Tensor) -> None:
        self._waiting.append(predictions)
        if len(self._waiting) * self._data.labels.numel() >= CELLS:
            self._measure_waiting()

    def looks(self, record: int) -> bool:
        return True

    def measured(self) -> Measures:
        if self._waiting:
            self._measure_waiting()
        if self._blocks is not None and len(self._blocks):
            self._measure(self._blocks.taken(self._data.instances.products_of_each))
        found, self._measures = self._measures, defaultdict(list)
        return found | self._mistakes.measured()

    def _measure_waiting(self) -> None:
        self._measure(self._waiting[0][None] if len(self._waiting) == 1 else torch.stack(self._waiting))
        self._waiting.clear()

    def _measure(self, predictions: torch.Tensor) -> None:
        """Measure the predictions [S, B, n] of S records."""
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
