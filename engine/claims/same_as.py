"""Claim that two curves are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Claim, Outcome, Tolerance, divergence, name_of, where
from engine.core.expressions import number
from engine.learners.learner import Name
from engine.pictures import wording
from engine.pictures.wording import curve_name

if TYPE_CHECKING:
    from engine.pictures.view import View


class SameAs(Claim, frozen=True, kw_only=True, tag="same-as"):
    """At every x position, two curves are equal up to a tolerance.

    Neither curve may end before its last planned evaluation point.
    """

    example: ClassVar[str] = '{kind = "same-as", curve = "hypentropy", other = "EGU±", within = 1e-4}'
    curve_fields: ClassVar[tuple[str, ...]] = ("curve", "other")

    other: Annotated[Name, Meta(title="other", description="the name of another learner")]
    within: Annotated[Tolerance, Meta(title="tolerance", description="largest difference that is allowed")]

    def finding(self, view: View, outcome: Outcome) -> str:
        names = [wording.called(view, compared) for compared in (self.of(view), view.curve(self.other))]
        assert outcome.measured is not None, "a finding is of what was measured"
        return f"{wording.listed(names)} differ by at most {number(abs(outcome.measured), 2)} everywhere"

    def judge(self, view: View) -> Outcome:
        curve, other = self.of(view), view.curve(self.other)
        for checked in (curve, other):
            if not checked.ends.complete:
                records = np.count_nonzero(checked.ends.sound)
                ends = f"the curve of {curve_name(view, checked)} ends after {records} evaluation points"
                diverged = divergence(view, checked)
                return self.fails(f"{curve_name(view, checked)}: {diverged}" if diverged else ends)
        gap = curve.y - np.interp(curve.x, other.x, other.y)
        at = int(np.argmax(np.abs(gap)))
        place = where(view, curve.x[at])
        detail = f"{name_of(view)} − that of {curve_name(view, other)} = {gap[at]:.2g} at {place}"
        holds = bool(abs(gap[at]) <= self.within)
        return Outcome(self, holds, float(gap[at]), f"{detail}, where ± {number(self.within, 2)} is allowed")
