"""How a curve runs beside a line of the theory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Claim, Floats, Outcome, StandardErrors, Within, divergence, name_of, where
from engine.core.notation import number
from engine.core.parts import BadField
from engine.learners.learner import Name
from engine.pictures import reductions
from engine.pictures.view_names import line_name

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, LineView, View

FORMS = ("never_below", "never_above", "follows")


class LineClaim(Claim, frozen=True, kw_only=True, tag="line"):
    """That a curve respects a line of the theory, or stays on it, at every place.

    Without `within` rounding is allowed. Left out are places where the measure has no value, and all from the
    first divergence of a replica on, where means would be over the other replicas only.
    """

    example: ClassVar[str] = '{kind = "line", curve = "GD", follows = "ri-signed", within = 1e-6}'
    line_fields: ClassVar[tuple[str, ...]] = FORMS

    never_below: Annotated[Name | None, Meta(title="never below", description="a line of the theory")] = None
    never_above: Annotated[Name | None, Meta(title="never above", description="a line of the theory")] = None
    follows: Annotated[Name | None, Meta(title="follows", description="a line that it stays on")] = None
    within: Within = None
    standard_errors: StandardErrors = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.one_of(*FORMS)
        if self.follows is not None and self.within is None and self.standard_errors is None:
            raise BadField("follows", "needs a tolerance: within = …, or standard_errors = …")

    @property
    def kind_of_line(self) -> str:
        """The kind of the line that it names."""
        return str(self.never_below or self.never_above or self.follows)

    def judge(self, view: View) -> Outcome:
        curve, kind = self.of(view), self.kind_of_line
        try:
            line = view.line(kind, curve.name)
        except KeyError:
            reason = view.absences.lines.get(kind, "there is none in this picture")
            return self.fails(f"{kind} does not apply: {reason}")
        sound = curve.ends.sound & ~np.isnan(curve.y)
        x, y = curve.x[sound], curve.y[sound]
        if not len(x):
            return self.fails("the curve has no evaluation points")
        gap = y - np.interp(x, line.x, line.y)
        errors = _errors(curve, line)
        error = np.zeros_like(gap) if errors is None else errors[sound]
        within = view.quantity.rounding * y[0] if self.within is None else self.within
        tolerance = within + (self.standard_errors or 0.0) * error
        worst = -gap if self.never_below else gap if self.never_above else np.abs(gap)
        at = int(np.argmax(worst - tolerance))
        holds = bool(worst[at] <= tolerance[at])
        detail = f"{name_of(view)} − {line_name(view, line)} = {gap[at]:.2g} at {where(view, x[at])}"
        detail += f", where ± {number(tolerance[at], 2)} is allowed"
        reached = curve.ends.complete or (not line.grows and bool(line.x[-1] <= x[-1]))
        if not reached:
            diverged = divergence(view, curve)
            detail += f"; {diverged}" if diverged else f"; the curve ends at {where(view, x[-1])}"
        stderr = None if errors is None else float(error[at])
        return Outcome(self, holds and reached, float(gap[at]), detail, stderr)


def _errors(curve: CurveView, line: LineView) -> Floats | None:
    """The standard errors of the gap between them, of the same replicas where the line has them too."""
    if line.of_some is None:
        return curve.stderr

    def gap(some: Sequence[int]) -> Floats:
        return curve.over(some) - np.interp(curve.x, line.x, line.over(some))

    return reductions.standard_error(curve.summary, curve.replicas, gap)
