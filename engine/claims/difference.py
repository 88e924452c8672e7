"""The difference of a curve to another, or to a line of the theory."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import (
    Comparing,
    Floats,
    MaybePlace,
    Outcome,
    other_at,
    places_of,
    unfinished,
    where,
    whole,
)
from engine.learners.learner import Name
from engine.pictures import reductions
from engine.pictures.view import CurveView, View


class Difference(Comparing, frozen=True, kw_only=True, tag="difference"):
    """A curve less another one, or less a line of the theory, at one place or at every one.

    Its standard error is that of paired differences: replica by replica both have the same data, and so has a
    line that is made of them. Of all places the difference is told that fits least.
    """

    example: ClassVar[str] = '{kind = "difference", curve = "GD", to = "percolation", above = 0}'
    curve_fields: ClassVar[tuple[str, ...]] = ("curve", "to")
    line_fields: ClassVar[tuple[str, ...]] = ("to",)

    to: Annotated[Name, Meta(title="to", description="the name of a learner, or of a line of the theory")]
    at: MaybePlace = None

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        name, other = other_at(view, self.to, curve)
        if self.at is None and (why := unfinished(view, curve)):
            return self.fails(why)
        gap = curve.y - other(whole)
        known = curve.sound & np.isfinite(gap)
        places = places_of(curve, known, self.at)
        if not len(places):
            return self.fails(f"there is no place at which both it and {name} are known")
        errors = self._errors(curve, view)
        worst = int(places[np.argmax(self.beyond(gap[places], None if errors is None else errors[places]))])
        what = f"at {where(view, curve.x[worst])} the difference to {name} is "
        return self.compared(float(gap[worst]), None if errors is None else float(errors[worst]), what)

    def _errors(self, curve: CurveView, view: View) -> Floats | None:
        """The standard error of the difference at every place."""
        _, other = other_at(view, self.to, curve)
        return reductions.standard_error(
            curve.summary,
            curve.replicas,
            lambda some: curve.over(some) - other(lambda one: one.over(some)),
        )
