"""Claim about the value of a curve at one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.claims import Comparing, Outcome, Place, divergence, name_of
from engine.pictures import wording
from engine.pictures.view import index_at

if TYPE_CHECKING:
    from engine.pictures.view import View


class Value(Comparing, frozen=True, kw_only=True, tag="value"):
    """The value of a curve at one x position equals a number, is below or above it, or is in an interval."""

    example: ClassVar[str] = '{kind = "value", curve = "GD", at = "d/2", equals = "1/2", within = 1e-6}'

    at: Place

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        if self.below is not None and (groups := self._arrivals_in_words(view)):
            return groups
        other_curves = [
            other_curve for other_curve in view.curves if other_curve.chosen and other_curve is not curve
        ]
        return wording.compared(view, self.at, *wording.named_values(view, self.at, curve, other_curves))

    def _arrivals_in_words(self, view: View) -> str:
        """Return a sentence that says from which x on each curve stays below the number in the claim.

        Curves with an x of at most `at` come first, then curves with a larger x, then curves that never stay
        below the number. The sentence is empty if the claim's curve is not in the first of these groups. It
        is also empty if the x-axis of the picture does not show the training progress.
        """
        assert self.below is not None, "it is asked of claims that a curve is below a number"
        curves = [curve for curve in view.curves if curve.chosen]
        arrivals = {wording.called(view, curve): wording.arrival(curve, self.below) for curve in curves}
        arrival = arrivals.get(wording.called(view, self.of(view)), np.inf)
        if view.picture.x != view.axes.clock or arrival > self.at:
            return ""
        early = {name: x for name, x in arrivals.items() if x <= self.at}
        late = {name: x for name, x in arrivals.items() if self.at < x < np.inf}
        never = [name for name, x in arrivals.items() if np.isinf(x)]
        is_loss = view.picture.measure.name == "loss"
        verb = wording.agree([*early], "stay" if is_loss else "keep")
        subject = "" if is_loss else f"{view.axes.y_label} "
        last = max(early.values())
        when = wording.place(view, last) if last else "throughout"
        first = f"{wording.listed([*early])} {verb} {subject}below {wording.level(view, self.below)} {when}"
        rest = wording.listed if late and never else _names_or_others
        later = f", {rest([*late])} only after {wording.ends(late.values())}" if late else ""
        exceptions = f"{', and ' if late else ', '}{rest(never)} never" if never else ""
        return wording.shortened(first, later, exceptions)

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        place = index_at(curve, self.at)
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


def _names_or_others(names: Sequence[str]) -> str:
    return wording.listed(names) if len(names) < 3 else "the others"
