"""The ratio of a curve to another, or to a line of the theory."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import (
    Comparing,
    MaybePlace,
    Outcome,
    other_at,
    places_of,
    standard_error,
    unfinished,
    where,
    whole,
)
from engine.learners.learner import Name
from engine.pictures.view import View

ZERO = 1e-12
"""What is below this is 0 up to rounding, and nothing is a multiple of it."""


class Ratio(Comparing, frozen=True, kw_only=True, tag="ratio"):
    """The ratio of a curve to another curve, or to a line of the theory, at one place or at every one.

    Places at which either is not known, or the other is 0, are no part of it. Of all places the ratio is told
    that fits least.
    """

    example: ClassVar[str] = '{kind = "ratio", curve = "GD", to = "ri-gaussian", between = [1, 1.2]}'
    curve_fields: ClassVar[tuple[str, ...]] = ("curve", "to")
    line_fields: ClassVar[tuple[str, ...]] = ("to",)

    to: Annotated[Name, Meta(title="to", description="the name of a learner, or of a line of the theory")]
    at: MaybePlace = None

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        name, other = other_at(view, self.to, curve)
        if self.at is None and (why := unfinished(view, curve)):
            return self.fails(why)
        below, above = other(whole), curve.y
        use = curve.sound & np.isfinite(below) & np.isfinite(above) & (np.abs(below) > ZERO)
        places = places_of(curve, use, self.at)
        if not len(places):
            return self.fails(f"there is no place at which both it and {name} are known, and {name} is not 0")
        ratios = above[places] / below[places]
        errors = None
        if self.standard_errors:
            errors = np.array([self._error(view, int(place)) or 0.0 for place in places])
        worst = int(places[np.argmax(self.beyond(ratios, errors))])
        what = f"at {where(view, curve.x[worst])} the ratio to {name} is "
        return self.compared(float(above[worst] / below[worst]), self._error(view, worst), what)

    def _error(self, view: View, place: int) -> float | None:
        """The standard error of the ratio at a place."""
        curve = self.of(view)
        _, other = other_at(view, self.to, curve)
        return standard_error(lambda take: float(take(curve)[place] / other(take)[place]), curve)
