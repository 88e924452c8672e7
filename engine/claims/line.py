"""How a curve runs beside a line of the theory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Claim, Floats, Outcome, StandardErrors, Within, divergence, name_of, where
from engine.core.notation import number
from engine.core.parts import BadField
from engine.learners.learner import Name
from engine.pictures import reductions, wording
from engine.pictures.view_names import line_in_brief, line_name

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
        x, gap, tolerance, error = self._compared(view, curve, line)
        if not len(x):
            return self.fails("the curve has no evaluation points")
        beyond = self._beyond(gap)
        at = int(np.argmax(beyond - tolerance))
        holds = bool(beyond[at] <= tolerance[at])
        detail = f"{name_of(view)} − {line_name(view, line)} = {gap[at]:.2g} at {where(view, x[at])}"
        detail += f", where ± {number(tolerance[at], 2)} is allowed"
        reached = curve.ends.complete or (not line.grows and bool(line.x[-1] <= x[-1]))
        if not reached:
            diverged = divergence(view, curve)
            detail += f"; {diverged}" if diverged else f"; the curve ends at {where(view, x[-1])}"
        stderr = None if error is None else float(error[at])
        return Outcome(self, holds and reached, float(gap[at]), detail, stderr)

    def finding(self, view: View, outcome: Outcome) -> str:
        kind, relation = self.kind_of_line, "follow"
        if not self.follows:
            relation = f"never {'fall' if self.never_below else 'rise'}"
        within, farthest, name = list[str](), list[tuple[bool, float, str]](), ""
        for curve in (self.of(view), *(one for one in view.curves if one.chosen and one.name != self.curve)):
            with suppress(KeyError):
                line = view.line(kind, curve.name)
                x, gap, tolerance, _ = self._compared(view, curve, line)
                if not len(x):
                    continue
                name = name or line_in_brief(view, line)
                beyond = self._beyond(gap)
                is_within = bool((beyond <= tolerance).all())
                if is_within:
                    within.append(wording.called(view, curve))
                distance = np.abs(gap) if is_within else beyond
                at = int(np.argmax(distance))
                height = float(np.interp(x[at], line.x, line.y))
                y, level = (wording.value(view, one) for one in (height + float(gap[at]), height))
                if y != level:
                    values = f"{wording.called(view, curve)} is at {y}, the line at {level}"
                    where = f"{wording.place(view, x[at])} {values}"
                    farthest.append((not is_within, float(distance[at]), where))
        contrast = max(farthest)[2] if farthest else ""
        if not within:
            return f"{contrast[:1].upper()}{contrast[1:]}: {name}"
        verb = wording.agree(within, relation) if self.follows or len(within) > 1 else f"{relation}s"
        side = "" if self.follows else " below" if self.never_below else " above"
        first = f"{wording.listed(within)} {verb}{side} {name}"
        if not contrast and outcome.measured:
            first = f"{first} within {number(abs(outcome.measured), 2)}"
        return wording.shortened(first, f"; {contrast}" if contrast else "")

    def _compared(
        self, view: View, curve: CurveView, line: LineView
    ) -> tuple[Floats, Floats, Floats, Floats | None]:
        """The places of a curve, its gap to a line there, the gap that is allowed, and its standard error."""
        sound = curve.ends.sound & ~np.isnan(curve.y)
        x, y = curve.x[sound], curve.y[sound]
        errors = _errors(curve, line)
        error = None if errors is None else errors[sound]
        within = view.quantity.rounding * y[:1] if self.within is None else self.within
        tolerance = within + (self.standard_errors or 0.0) * (np.zeros_like(x) if error is None else error)
        return x, y - np.interp(x, line.x, line.y), tolerance, error

    def _beyond(self, gap: Floats) -> Floats:
        """How far a curve is on the side of a line where it should not be."""
        return -gap if self.never_below else gap if self.never_above else np.abs(gap)


def _errors(curve: CurveView, line: LineView) -> Floats | None:
    """The standard errors of the gap between them, of the same replicas where the line has them too."""
    if line.of_some is None:
        return curve.stderr

    def gap(some: Sequence[int]) -> Floats:
        return curve.over(some) - np.interp(curve.x, line.x, line.over(some))

    return reductions.standard_error(curve.summary, curve.replicas, gap)
