"""What a training run is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.core.cost import Cost
    from engine.core.streams import Streams
    from engine.learners.learner import Learner
    from engine.measures import Measure
    from engine.problems.data import Data


@dataclass(frozen=True)
class TrainingInputs:
    """Who learns, from which data, what a prediction costs, where randomness comes from, what is measured."""

    learner: Learner
    data: Data
    loss: Cost
    streams: Streams
    measures: tuple[Measure, ...] = ()
