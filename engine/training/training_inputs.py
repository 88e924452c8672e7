"""What a training run is made of, and at which records it keeps weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.core.cost import Cost
    from engine.core.streams import Streams
    from engine.learners.learner import Learner
    from engine.measures import Measure
    from engine.problems.data import Data
    from engine.problems.examples import Examples

MOST_WEIGHT_RECORDS = 1024
MOST_WEIGHT_BYTES = 32 << 20


@dataclass(frozen=True)
class TrainingInputs:
    """Who learns, from which data, what a prediction costs, where randomness comes from, what is measured."""

    learner: Learner
    data: Data
    loss: Cost
    streams: Streams
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True)
class Undrawn:
    """The same before data are drawn, as tensors or as numpy's arrays, for so many variants such as rates."""

    learner: Learner
    variants: int
    data: Callable[[], Data]
    examples: Callable[[], Examples]
    loss: Cost
    streams: Streams
    measures: tuple[Measure, ...] = ()

    def drawn(self) -> TrainingInputs:
        """With data as tensors."""
        data = self.data().with_variants(self.variants)
        return TrainingInputs(self.learner, data, self.loss, self.streams, self.measures)


@dataclass(frozen=True)
class KeptRecords:
    """Every so many-th record, and the last."""

    stride: int
    last: int

    def __contains__(self, record: int) -> bool:
        return record % self.stride == 0 or record == self.last

    def __len__(self) -> int:
        return -(-self.last // self.stride) + 1


def kept_records(records: int, d: int, itemsize: int) -> KeptRecords:
    """At which of a curve's records its weights [d] are kept, so that a run keeps a bounded number."""
    most = max(2, min(MOST_WEIGHT_RECORDS, MOST_WEIGHT_BYTES // (d * itemsize)))
    return KeptRecords(max(1, -(-(records - 1) // (most - 1))), records - 1)
