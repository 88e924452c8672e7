"""What a training run can do, whatever computes it."""

from __future__ import annotations

import math
from typing import Protocol

from engine.hypotheses.hypothesis import Predictor
from engine.training.recorder import Block


class Recording(Protocol):
    """What computes the records of one learner on its way through a protocol."""

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        """Work for about as long as `records` records take; the records that were completed, maybe none.

        Where records take many updates each, so many updates are made, and a record is left unfinished.
        Records are the same wherever calls end.

        Args:
            seconds: after which no more work is begun, that of a single update or record.
        """


class TrainingRun(Recording, Protocol):
    """The same where there is a hypothesis on tensors, whose predictions others may use."""

    @property
    def hypothesis(self) -> Predictor:
        """What the learner predicts now."""
