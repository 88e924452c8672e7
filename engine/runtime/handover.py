"""A training run that a slower backend serves until what a faster one needs is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.training.recorder import Block
from engine.training.training_run import Recording


class Handover:
    """The records of one backend up to some record, and of another from there on: equal up to rounding.

    The other one goes through what has been recorded once more.
    """

    def __init__(
        self, serving: Recording, is_ready: Callable[[], bool], begin: Callable[[], Recording]
    ) -> None:
        """Until something is ready the first one serves; then another one begins."""
        self._serving, self._is_ready, self._begin = serving, is_ready, begin
        self._waiting, self._taken, self._again = True, 0, 0

    def advance(self, records: int, seconds: float = math.inf) -> Block:
        if self._waiting and self._is_ready():
            self._waiting, self._again = False, self._taken
            self._serving = self._begin()
        block = self._serving.advance(records, seconds)
        count = len(block.loss)
        known = min(self._again, count)
        self._again -= known
        self._taken += count - known
        return block.after(known) if known else block
