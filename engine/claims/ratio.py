"""Claim about the ratio of a curve to a second curve, or to a theory line."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.claims import ComparingTwo, Floats

ZERO = 1e-12
"""Values below this level are 0 up to rounding; ratios to them are undefined."""


class Ratio(ComparingTwo, frozen=True, kw_only=True, tag="ratio"):
    """Ratio of a curve to a second curve, or to a theory line, at one x position or at every x position.

    A position does not count if one of the two has no value there, or if the second value is 0. The message
    reports the worst position.
    """

    example: ClassVar[str] = '{kind = "ratio", curve = "GD", to = "ri-gaussian", between = [1, 1.2]}'

    phrase: ClassVar[str] = "{curve} is {ends} times {other}"

    @property
    def needs(self) -> str:
        return "there is no x at which the curve has a value and {name} has a nonzero value"

    def combined(self, y: Floats, other: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(np.abs(other) > ZERO, y / other, np.nan)
