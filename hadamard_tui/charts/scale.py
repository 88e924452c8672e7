"""Convert data to positions on a chart and back, for one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Limits

# Far outside any chart, yet small enough that positions can be interpolated and held in int32.
BEYOND = 1e9


class Scale(msgspec.Struct, frozen=True):
    """Maps `limits` onto the centres of `size` slots: the lower limit to 0, the upper one to size − 1."""

    limits: Limits
    log: bool
    size: int

    def place(self, values: np.ndarray) -> np.ndarray:
        """Return slot positions, fractional, of any shape.

        NaN stays NaN; values ≤ 0 on a log axis are far below.
        """
        low, high = self._ends()
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            values = np.asarray(values, dtype=np.float64)
            if self.log:
                values = np.log10(np.maximum(values, 0.0))
            return np.clip((values - low) * ((self.size - 1) / (high - low)), -BEYOND, BEYOND)

    def slot(self, value: float) -> int | None:
        """Return the slot that holds a value, or None outside the limits."""
        place = float(self.place(np.asarray(value)))
        return math.floor(place + 0.5) if -0.5 <= place < self.size - 0.5 else None

    def value(self, slot: float) -> float:
        """Return the data value at a slot; the inverse of `place`."""
        low, high = self._ends()
        value = low + slot * ((high - low) / max(self.size - 1, 1))
        return float(10.0**value) if self.log else value

    def edges(self) -> np.ndarray:
        """Return data values at the borders of the slots, shape [size + 1]."""
        low, high = self._ends()
        borders = low + (np.arange(self.size + 1) - 0.5) * ((high - low) / max(self.size - 1, 1))
        return 10.0**borders if self.log else borders

    def _ends(self) -> tuple[float, float]:
        low, high = self.limits
        return (float(np.log10(low)), float(np.log10(high))) if self.log else (low, high)
