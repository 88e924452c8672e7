"""Ratio of a curve and a second one, or a theory line."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.claims import ComparingTwo, Floats

ZERO = 1e-12
"""Level below which values are 0 up to rounding, and have no multiples."""


class Ratio(ComparingTwo, frozen=True, kw_only=True, tag="ratio"):
    """Ratio of a curve to a second curve, or to a theory line, at one place or at every place.

    Places where either is unknown, or where the second is 0, do not count. The message reports the worst
    place.
    """

    example: ClassVar[str] = '{kind = "ratio", curve = "GD", to = "ri-gaussian", between = [1, 1.2]}'

    phrase: ClassVar[str] = "{curve} is {ends} times {other}"

    @property
    def needs(self) -> str:
        return ", and {name} is not 0"

    def combined(self, y: Floats, other: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(np.abs(other) > ZERO, y / other, np.nan)
