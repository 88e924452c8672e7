"""What a curve is at one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from engine.claims import Comparing, Outcome, Place, divergence, name_of

if TYPE_CHECKING:
    from engine.pictures.view import View


class Value(Comparing, frozen=True, kw_only=True, tag="value"):
    """What a curve is at one place: equal to a number, below or above it, or between two."""

    example: ClassVar[str] = '{kind = "value", curve = "GD", at = "d/2", equals = "1/2", within = 1e-6}'

    at: Place

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
