"""How many rows are mistaken, at all records of a small training run and at some of a large one."""

from __future__ import annotations

from collections.abc import Callable

from engine.core.cost import Cost
from engine.core.lazy import torch
from engine.core.linear_algebra import looked_at
from engine.core.memory import CELLS
from engine.measures import Measure
from engine.measures.error import right_less_wrong
from engine.problems.data import Data
from engine.training.evaluators import Measures, includes

MOST_CELLS = 1 << 25
"""A curve counts the mistakes among so many predictions at every record; of more it takes some records."""


class Mistakes:
    """The shares of rows that are mistaken, if labels are two classes.

    They are counted at all records of a small training run, and at some of a large one, where they would cost
    more than its losses.
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
        self._count(self._waiting[0][None] if len(self._waiting) == 1 else torch.stack(self._waiting))
        self._waiting.clear()

    def _count(self, predictions: torch.Tensor) -> None:
        found = right_less_wrong(predictions, self._data, self._loss)
        right = found.sum(2).double() / found.shape[2]  # whole numbers are exact; fractions are in float64
        self._shares.append(self._data.over_targets((1 - right) / 2))


def counted_everywhere(data: Data, records: int) -> bool:
    """Whether a training run is so small that its mistakes are counted at every record."""
    return records * data.labels.numel() <= MOST_CELLS
