"""Claim about the order of two curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Claim, Floats, MaybePlace, Outcome, Tolerance, name_of, unfinished, where
from engine.learners.learner import Name
from engine.pictures import reductions, wording
from engine.pictures.view import index_at
from engine.pictures.wording import curve_name

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View


class Order(Claim, frozen=True, kw_only=True, tag="order"):
    """At x = `at`, a curve is below a second curve. Without `at`, it is nowhere above the second curve.

    Without `at`, a difference within rounding does not count as above.
    """

    example: ClassVar[str] = '{kind = "order", curve = "EGU", below = "GD", at = "d/4", standard_errors = 3}'
    curve_fields: ClassVar[tuple[str, ...]] = ("curve", "below")

    below: Annotated[
        Name,
        Meta(
            title="below", description="name of the second learner, whose curve must be above that of `curve`"
        ),
    ]
    at: MaybePlace = None
    standard_errors: Annotated[
        Tolerance,
        Meta(
            title="standard errors", description="least gap between the curves, in standard errors of the gap"
        ),
    ] = 0.0

    def finding(self, view: View, outcome: Outcome) -> str:
        curve, other = self.of(view), view.curve(self.below)
        names = wording.called(view, curve), wording.called(view, other)
        other_y = np.interp(curve.x, other.x, other.y)
        at = index_at(curve, self.at) if self.at is not None else int(np.nanargmax(np.abs(other_y - curve.y)))
        at = at or 0
        first_value, compared = (names[0], float(curve.y[at])), [(names[1], float(other_y[at]))]
        values = wording.compared(view, float(curve.x[at]), first_value, compared)
        if self.at is not None:
            return values
        rest = f"{values[0].lower()}{values[1:]}"
        relation = "is nowhere above" if outcome.holds else "is not always below"
        return wording.shortened(f"{names[0]} {relation} {names[1]}", f"; {rest}")

    def judge(self, view: View) -> Outcome:
        curve, other = self.of(view), view.curve(self.below)
        for checked in (curve, other):
            if self.at is None and (why := unfinished(view, checked)):
                return self.fails(f"{curve_name(view, checked)}: {why}")
            if not len(checked.x):
                return self.fails(f"{curve_name(view, checked)} has no evaluation points")
        is_defined = curve.ends.sound & np.isfinite(
            np.interp(curve.x, other.x, np.where(other.ends.sound, other.y, np.nan))
        )
        if self.at is not None:
            place = index_at(curve, self.at)
            is_defined &= np.arange(len(curve.x)) == (-1 if place is None else place)
        places = np.flatnonzero(is_defined)
        if not len(places):
            return self.fails("there is no x at which both curves have a value")
        gap = (curve.y - np.interp(curve.x, other.x, other.y))[places]
        error = self._errors_of_gap(curve, other)
        errors = np.zeros_like(gap) if error is None else error[places]
        beyond = gap + self.standard_errors * errors
        worst = int(np.argmax(beyond))
        allowed = view.quantity.rounding * abs(float(curve.y[places[0]])) if self.at is None else 0.0
        holds = beyond[worst] <= allowed if self.at is None else beyond[worst] < 0
        detail = f"{name_of(view)} − that of {curve_name(view, other)} = {gap[worst]:.2g}"
        detail += f" at {where(view, curve.x[places[worst]])}"
        stderr = None if error is None else float(errors[worst])
        if stderr is not None and stderr > allowed:
            detail += f", {gap[worst] / stderr:+.1f} standard errors"
        return Outcome(self, bool(holds), float(gap[worst]), detail, stderr)

    def _errors_of_gap(self, curve: CurveView, other: CurveView) -> Floats | None:
        """Return the standard error of the gap at each x, from replicas paired by their data."""

        def gap(replicas: Sequence[int]) -> Floats:
            return curve.over(replicas) - np.interp(curve.x, other.x, other.over(replicas))

        return reductions.standard_error(curve.summary, curve.replicas, gap)
