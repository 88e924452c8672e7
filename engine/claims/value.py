"""What a curve is at one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.claims import Comparing, Outcome, Place, divergence, name_of
from engine.core.notation import number
from engine.pictures import wording

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View


class Value(Comparing, frozen=True, kw_only=True, tag="value"):
    """What a curve is at one place: equal to a number, below or above it, or between two."""

    example: ClassVar[str] = '{kind = "value", curve = "GD", at = "d/2", equals = "1/2", within = 1e-6}'

    at: Place

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        if self.below is not None and (groups := self._arrivals(view)):
            return groups
        others = [one for one in view.curves if one.chosen and one is not curve]
        return wording.compared(view, self.at, *wording.named_values(view, self.at, curve, others))

    def _arrivals(self, view: View) -> str:
        """When curves stay below the number for good, those that do so by the place and the others.

        Nothing along other axes than a clock, and where the curve itself does not stay below it.
        """
        assert self.below is not None, "it is asked of claims that a curve is below a number"
        curves = [one for one in view.curves if one.chosen]
        arrivals = {wording.called(view, one): _arrival(one, self.below) for one in curves}
        own = arrivals.get(wording.called(view, self.of(view)))
        if view.picture.x != view.axes.clock or own is None or own > self.at:
            return ""
        early = {name: x for name, x in arrivals.items() if x is not None and x <= self.at}
        late = {name: x for name, x in arrivals.items() if x is not None and x > self.at}
        never = [name for name, x in arrivals.items() if x is None]
        is_loss = view.picture.measure.name == "loss"
        verb = wording.agree([*early], "stay" if is_loss else "keep")
        what = "" if is_loss else f"{view.axes.y_label} "
        last = max(early.values())
        when = wording.place(view, last) if last else "throughout"
        first = f"{wording.listed([*early])} {verb} {what}below {wording.level(view, self.below)} {when}"
        ends = " to ".join(dict.fromkeys(number(of(late.values())) for of in (min, max))) if late else ""
        later = f", {wording.listed([*late])} only after {ends}" if late else ""
        others = f"{', and ' if late else ', '}{wording.listed(never)} never" if never else ""
        return wording.shortened(first, later, others)

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        place = curve.place(self.at)
        nothing = f"there is no {name_of(view)} recorded at {view.picture.x} = {self.at:.10g}"
        if place is None:
            ended = curve.ends.diverged == curve.replicas and (curve.ends.diverged_at or 0.0) <= self.at
            return self.fails(divergence(view, curve) if ended else nothing)
        if curve.ends.lost[place]:
            return self.fails(divergence(view, curve))
        if np.isnan(curve.y[place]):
            return self.fails(nothing)
        stderr = None if curve.stderr is None else float(curve.stderr[place])
        return self.compared(float(curve.y[place]), stderr)


def _arrival(curve: CurveView, level: float) -> float | None:
    """The first place from which a curve stays below a level to its end; None if it does not."""
    beyond = np.flatnonzero(~(curve.y < level))
    first = int(beyond[-1]) + 1 if len(beyond) else 0
    return float(curve.x[first]) if curve.ends.complete and first < len(curve.x) else None
