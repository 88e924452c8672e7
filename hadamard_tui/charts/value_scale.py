"""Convert values of a heat map to steps of its scale, linear or logarithmic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hadamard_tui.charts.scale import Scale

if TYPE_CHECKING:
    from hadamard_tui.charts.series import Limits

# A wider linear range would overflow; what is beyond is shown as the end of the scale.
_LARGEST = 8e307
# Narrower ranges (relative to the values) are rounding noise: all the same.
_NOISE = 1e-12
_FACTOR = 2.0
"""Factor up and down that the scale reaches around a single value."""


class ValueScale(msgspec.Struct, frozen=True):
    """A range of values.

    Args:
        hidden: what of the values no step shows truly, in words; empty if there is nothing.
    """

    limits: Limits
    log: bool
    hidden: str = ""

    def steps(self, values: np.ndarray, count: int) -> np.ndarray:
        """Return the step of each value among `count` equal ones, −1 for NaN; beyond the ends the last."""
        share = Scale(self.limits, self.log, 2).place(values)
        defined = ~np.isnan(share)
        steps = np.where(defined, share, 0.0) * count
        return np.where(defined, steps.clip(0, count - 1), -1).astype(np.int16)

    def share(self, value: float) -> float:
        """Return the position of a value on the scale, 0 … 1 within the limits."""
        return float(Scale(self.limits, self.log, 2).place(np.asarray(value)))


def value_scale(z: np.ndarray, log: bool) -> ValueScale:
    """Return the scale from the least to the greatest value that it can show.

    A logarithmic scale over values of which none is above 0 is linear, and says so.
    """
    finite = z[np.isfinite(z)]
    positive = finite[finite > 0]
    reasons = []
    if infinite := int(np.isinf(z).sum()):
        reasons.append(f"{infinite} infinite")
    if log and finite.size and not positive.size:
        log = False
        reasons.append("linear: nothing is above 0")
    elif log and (lost := finite.size - positive.size):
        reasons.append(f"{lost} not above 0")
    return ValueScale(_limits(positive if log else finite, log), log, ", ".join(reasons))


def _limits(usable: np.ndarray, log: bool) -> Limits:
    if not usable.size:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = max(float(usable.min()), -_LARGEST), min(float(usable.max()), _LARGEST)
    if high - low > _NOISE * max(abs(low), abs(high)):
        return low, high
    if log:
        return low / _FACTOR or low, high * _FACTOR
    room = abs(low) / _FACTOR or 1.0
    return low - room, high + room
