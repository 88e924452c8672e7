"""The ratio of a curve to another, or to a line of the theory."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.claims import ComparingTwo, Floats

ZERO = 1e-12
"""What is below this is 0 up to rounding, and nothing is a multiple of it."""


class Ratio(ComparingTwo, frozen=True, kw_only=True, tag="ratio"):
    """The ratio of a curve to another curve, or to a line of the theory, at one place or at every one.

    Places at which either is not known, or the other is 0, are left out. Of all places the worst one is
    reported.
    """

    example: ClassVar[str] = '{kind = "ratio", curve = "GD", to = "ri-gaussian", between = [1, 1.2]}'

    phrase: ClassVar[str] = "{curve} is {ends} times {other}"

    @property
    def needs(self) -> str:
        return ", and {name} is not 0"

    def made(self, y: Floats, other: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(np.abs(other) > ZERO, y / other, np.nan)
