"""Claim about the crossing of two curves, or of a curve and a theory line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Comparing, Floats, Outcome, other_at, standard_error, unfinished, whole
from engine.learners.learner import Name
from engine.pictures import wording

if TYPE_CHECKING:
    from engine.pictures.view import View


class Crossing(Comparing, frozen=True, kw_only=True, tag="crossing"):
    """First x position at which a curve crosses a second curve, or a theory line.

    Between evaluation points, the crossing is interpolated linearly in x. On a logarithmic x-axis, it is
    interpolated in log x.
    """

    example: ClassVar[str] = '{kind = "crossing", curve = "EGU", other = "GD", below = "d/2"}'
    curve_fields: ClassVar[tuple[str, ...]] = ("curve", "other")
    line_fields: ClassVar[tuple[str, ...]] = ("other",)

    other: Annotated[Name, Meta(title="other", description="name of a learner, or a theory line")]

    def finding(self, view: View, outcome: Outcome) -> str:
        curve = self.of(view)
        name, _ = other_at(view, self.other, curve)
        assert outcome.measured is not None, "a finding is of what was measured"
        place = wording.place(view, outcome.measured)
        return f"{wording.called(view, curve)} crosses {wording.quoted(name)} {place}"

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        name, other = other_at(view, self.other, curve)
        if why := unfinished(view, curve):
            return self.fails(why)
        x = np.log(curve.x) if view.axes.x_log and (curve.x > 0).all() else curve.x

        def crossing(gap: Floats) -> float:
            at = _first_crossing(x, gap)
            return float(np.exp(at)) if x is not curve.x else at

        measured = crossing(whole(curve) - other(whole))
        if np.isnan(measured):
            return self.fails(f"it does not cross {name}")
        stderr = standard_error(lambda take: crossing(take(curve) - other(take)), curve)
        return self.compared(
            measured, stderr, f"it crosses {name} at {view.picture.x} = ", view.picture.summary
        )


def _first_crossing(x: Floats, gap: Floats) -> float:
    """Return the first x at which `gap` changes its sign, interpolated linearly, or NaN."""
    # A gap of 0 has no sign, so curves that start equal do not cross at their start.
    is_defined = np.isfinite(gap) & (gap != 0)
    places, signs = np.flatnonzero(is_defined), np.sign(gap[is_defined])
    changes = np.flatnonzero(signs[1:] != signs[:-1])
    if not len(changes):
        return float("nan")
    before, after = places[changes[0]], places[changes[0] + 1]
    share = gap[before] / (gap[before] - gap[after])
    return float(x[before] + share * (x[after] - x[before]))
