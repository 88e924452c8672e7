"""Claim that the contour of a theory line divides a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Claim, Number, Outcome, name_of
from engine.core.expressions import number
from engine.learners.learner import Name
from engine.pictures import wording
from engine.pictures.view import NEAR, heat_of

if TYPE_CHECKING:
    from engine.pictures.view import View


class Divides(Claim, frozen=True, kw_only=True, tag="divides"):
    """A heat map is below `at_value` where a theory line is below its level, and above `at_value` elsewhere.

    The theory line has a value in each cell. The level is the value of the line on the contour that the
    picture draws.

    With `falls`, the sides are exchanged: the map is above `at_value` where the line is below its level.
    `share` is the least share of the cells that must satisfy the claim. Cells in which the line equals its
    level do not count. A cell without a value does not satisfy the claim.
    """

    example: ClassVar[str] = '{kind = "divides", curve = "net", contour = "chi-perp", at_value = 2}'
    line_fields: ClassVar[tuple[str, ...]] = ("contour",)
    of_map: ClassVar[bool] = True

    contour: Annotated[Name, Meta(title="contour", description="theory line whose contour divides the map")]
    at_value: Annotated[Number, Meta(title="value", description="value of the map on the contour")]
    falls: Annotated[
        bool,
        Meta(
            title="falls",
            description="whether the map is above the value wherever the line is below its level",
        ),
    ] = False
    share: Annotated[
        float, Meta(gt=0, le=1, title="share", description="least share of the cells that satisfy the claim")
    ] = 1.0

    def finding(self, view: View, outcome: Outcome) -> str:
        assert outcome.measured is not None, "a finding is of what was measured"
        contour = heat_of(view, str(self.curve)).contour(self.contour)
        where, level = f"in {100 * outcome.measured:.3g} % of the cells", number(self.at_value)
        sides = f"{wording.predicate(view)} above {level} on one side and below {level} on the other"
        return f"{contour.name} divides the map: {where}, {sides}"

    def judge(self, view: View) -> Outcome:
        assert self.curve is not None, "a claim about every learner is judged of one after the other"
        heat = heat_of(view, self.curve)
        try:
            contour = heat.contour(self.contour)
        except KeyError:
            return self.fails(f"{self.contour} has no values on the map")
        apart = np.abs(contour.values - contour.level) > NEAR * max(1.0, abs(contour.level))
        is_defined = np.isfinite(contour.values) & apart
        if not is_defined.any():
            return self.fails(f"{self.contour} has no value other than {contour.level:g} on the map")
        below = contour.values[is_defined] < contour.level
        low = below != self.falls
        so = np.where(low, heat.z[is_defined] < self.at_value, heat.z[is_defined] > self.at_value)
        if below.all() or not below.any():
            side = "below" if below.all() else "above"
            return self.fails(f"{self.contour} is {side} {contour.level:g} everywhere on the map")
        share = float(so.mean())
        detail = f"{name_of(view)} is above or below {self.at_value:g}, as {contour.name} predicts, "
        detail += f"in {so.sum()} of {len(so)} cells; {100 * self.share:.4g} % are needed"
        return Outcome(self, share >= self.share, share, detail)
