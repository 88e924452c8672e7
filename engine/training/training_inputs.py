"""What a training run is made of."""

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
