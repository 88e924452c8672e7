"""How far a curve is from what theory says that it is, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.results.wording import number, percent

Floats = NDArray[np.float64]

MOST_PERCENT = 1000
"""From so many percent on a distance is told as it is."""

NEAR_ZERO = 0.1
"""Theory that comes below this share of its greatest value is near 0 there."""


class Gap(NamedTuple):
    """How far a curve is at most from what theory says of it."""

    words: str
    size: float = 0.0
    share: float | None = 0.0
    """The same in percent of the theory; None where that comes near 0, and of 0 nothing is a share."""

    last: str = ""
    """How many percent it is at the end, in words, where that is less than half of the most."""

    errors: str = ""
    """The most in standard errors, in words."""

    @property
    def in_words(self) -> str:
        """All of it, as a predicate."""
        return f"{self.words}{self.last}{self.errors}"

    @classmethod
    def between(cls, y: Floats, theory: Floats, stderr: Floats | None, rounding: float, is_log: bool) -> Gap:
        """That of values from those of the theory.

        On a logarithmic axis every value has its share. Otherwise theory may fall to 0, and then the gap is
        told as it is.
        """
        if not len(y):
            return cls("has no value yet")
        gap, heights = np.abs(y - theory), np.abs(theory)
        gap[gap <= rounding * max(abs(float(y[0])), float(heights.max()))] = 0.0
        if not gap.any():
            return cls("is the same to rounding")
        if is_log or heights.min() > NEAR_ZERO * heights.max():
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = 100 * np.where(gap > 0, gap / heights, 0.0)
        else:
            shares = np.full_like(gap, np.inf)
        share = float(shares.max()) if shares.max() < MOST_PERCENT else None
        size, errors = float(gap.max()), ""
        if stderr is not None and (stderr > 0).all():
            errors = f", {float((gap / stderr).max()):.1f} standard errors"
        if share is None:
            return cls(f"is off by at most {number(size)}", size, None, "", errors)
        last = f", by {percent(float(shares[-1]))} at the end" if shares[-1] < share / 2 else ""
        return cls(f"is off by at most {percent(share)}", size, share, last, errors)

    @classmethod
    def widest(cls, gaps: Sequence[Gap]) -> str:
        """Within what all are of the theory."""
        shares = [one.share for one in gaps if one.share is not None]
        if not any(one.size for one in gaps):
            return "at"
        if len(shares) == len(gaps):
            return f"within {percent(max(shares))} of"
        return f"within {number(max(one.size for one in gaps))} of"
