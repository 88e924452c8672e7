"""Where a curve is complete although more records were planned: its replicas have all passed a value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.protocols import Until

Floats = NDArray[np.float64]


class EarlyEnd:
    """Which replicas of a curve have passed the value with which its run may end."""

    def __init__(self, until: Until, replicas: int) -> None:
        self._until = until
        self._passed = np.zeros(replicas, bool)
        self.reached = False

    def length(
        self, clocks: Mapping[str, Floats], measures: Mapping[str, Floats], sound: NDArray[np.intp]
    ) -> int:
        """How many of the next records belong to the curve.

        The last one is that by which each of its replicas has passed the value or diverged, and one passed.

        Args:
            clocks: [S] by name, or [S, R] where replicas differ.
            measures: [S, R] by name.
            sound: how many of the records every replica has before it diverges, [R].
        """
        records = np.arange(len(next(iter(clocks.values()))))[:, None]
        now = self._until.passed(clocks, measures) & (records < sound)
        passed = np.logical_or.accumulate(now | self._passed, 0)
        self._passed = passed[-1]
        ends = (passed | (records >= sound)).all(1) & passed.any(1)
        self.reached = bool(ends.any())
        return int(ends.argmax()) + 1 if self.reached else len(records)
