"""How far a curve is from what theory says that it is, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.captions.wording import percent
from engine.core.notation import number
from engine.pictures.rounding import QUIET

Floats = NDArray[np.float64]

MOST_PERCENT = 1000
"""From so many percent on a distance is given as it is."""

NEAR_ZERO = 0.1
"""Theory that comes below this share of its greatest value is near 0 there."""

APART = 3
"""Of curves of which one is so many times as far off as another both are named."""


class Far(NamedTuple):
    """A distance from the theory."""

    size: float
    share: float | None = None
    """The same in percent of the theory; None where that comes near 0, and of 0 nothing is a share."""

    @property
    def height(self) -> float:
        """The share, or else the size."""
        return self.size if self.share is None else self.share

    @property
    def in_words(self) -> str:
        """The same in words."""
        return number(self.size) if self.share is None else percent(self.share)


class Gap(NamedTuple):
    """How far a curve is from what theory says of it."""

    most: Far | None
    """None where there is no value yet."""

    end: Far | None = None
    """How far it is at the end, where that is less than half of the most."""

    errors: str = ""
    """The most in standard errors, in words; nothing where these are rounding."""

    @property
    def in_words(self) -> str:
        """All of it, as a predicate; first where a curve comes to that starts elsewhere."""
        if self.most is None:
            return "has no value yet"
        if not self.most.size:
            return "is the same to rounding"
        if self.end is not None:
            if not self.end.size:
                return f"comes to it from at most {self.most.in_words} off{self.errors}"
            return f"ends {self.end.in_words} off, {self.most.in_words} at most{self.errors}"
        return f"is off by at most {self.most.in_words}{self.errors}"

    @classmethod
    def between(cls, y: Floats, theory: Floats, stderr: Floats | None, rounding: float, is_log: bool) -> Gap:
        """That of values from those of the theory.

        On a logarithmic axis every value has its share. Otherwise theory may fall to 0, and then the gap is
        given as it is.
        """
        if not len(y):
            return cls(None)
        gap, heights = np.abs(y - theory), np.abs(theory)
        highest = max(float(np.abs(y).max()), float(heights.max()))
        zero = max(rounding * max(abs(float(y[0])), float(heights.max())), highest if highest <= QUIET else 0)
        gap[gap <= zero] = 0.0
        if not gap.any():
            return cls(Far(0.0, 0.0))
        if is_log or heights.min() > NEAR_ZERO * heights.max():
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = 100 * np.where(gap > 0, gap / heights, 0.0)
        else:
            shares = np.full_like(gap, np.inf)
        errors = ""
        apart = gap > 0
        if stderr is not None and (stderr[apart] > zero).all():
            errors = f", {float((gap[apart] / stderr[apart]).max()):.1f} standard errors"
        in_shares = bool(shares.max() < MOST_PERCENT)
        most = Far(float(gap.max()), float(shares.max()) if in_shares else None)
        end = Far(float(gap[-1]), float(shares[-1]) if in_shares else None)
        return cls(most, end if end.height < most.height / 2 else None, errors)

    @classmethod
    def widest(cls, gaps: Sequence[Gap]) -> str:
        """Within what all are of the theory, as a predicate: at their ends, where all come closer; of curves
        that are far apart in this the closest is named as well."""
        ends = [one.end for one in gaps if one.end is not None]
        some = ends if len(ends) == len(gaps) else [one.most for one in gaps if one.most is not None]
        verb = "ends" if len(ends) == len(gaps) else "is"
        if not some:
            return "has no value yet of"
        if not any(one.size for one in some):
            return f"{verb} at"
        if any(one.share is None for one in some):
            some = [Far(one.size) for one in some]
        least, most = (found(some, key=lambda one: one.height) for found in (min, max))
        nearest = f"{least.in_words} to " if APART * least.height < most.height else ""
        return f"{verb} within {nearest}{most.in_words} of"
