"""Claim that compares a curve with a theory line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta

from engine.claims import Claim, Floats, Outcome, StandardErrors, Within, divergence, name_of, where
from engine.core.expressions import number
from engine.core.parts import BadField
from engine.learners.learner import Name
from engine.pictures import reductions, wording
from engine.pictures.view import line_of
from engine.pictures.wording import line_name

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, LineView, View

FORMS = ("never_below", "never_above", "follows")


class _Farthest(NamedTuple):
    """Evaluation point at which a curve is farthest from its theory line, or farthest on the wrong side."""

    name: str
    line: LineView
    is_allowed: bool
    """Whether the curve is within its tolerance everywhere."""

    distance: float
    sentence: str
    is_visible: bool
    """Whether the sentence shows different numbers for curve and line."""


def _clause_on_farthest(farthest: _Farthest | None) -> str:
    return "" if farthest is None else f"; {farthest.sentence}"


class LineClaim(Claim, frozen=True, kw_only=True, tag="line"):
    """A curve either never falls below a theory line, or never rises above it, or follows it.

    The claim is about every x position at which the curve has a value. Without `within`, only rounding errors
    are allowed. Once a replica has diverged, later positions do not count, because the curve is then the mean
    over the other replicas only.
    """

    example: ClassVar[str] = '{kind = "line", curve = "GD", follows = "ri-signed", within = 1e-6}'
    line_fields: ClassVar[tuple[str, ...]] = FORMS

    never_below: Annotated[
        Name | None, Meta(title="never below", description="theory line below which the curve never falls")
    ] = None
    never_above: Annotated[
        Name | None, Meta(title="never above", description="theory line above which the curve never rises")
    ] = None
    follows: Annotated[
        Name | None, Meta(title="follows", description="theory line that the curve follows")
    ] = None
    within: Within = None
    standard_errors: StandardErrors = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.one_of(*FORMS)
        if self.follows is not None and self.within is None and self.standard_errors is None:
            raise BadField("follows", "needs a tolerance: within = …, or standard_errors = …")

    @property
    def kind_of_line(self) -> str:
        return str(self.never_below or self.never_above or self.follows)

    def judge(self, view: View) -> Outcome:
        curve, kind = self.of(view), self.kind_of_line
        try:
            line = line_of(view, kind, curve.name)
        except KeyError:
            reason = view.absences.lines.get(
                kind, "the picture has no theory line of this kind for this curve"
            )
            return self.fails(f"{kind} does not apply: {reason}")
        x, gap, tolerance, error = self._gap_and_tolerance(view, curve, line)
        if not len(x):
            return self.fails("the curve has no evaluation points")
        beyond = self._distance_beyond(gap)
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
        curves = (
            self.of(view),
            *(
                other_curve
                for other_curve in view.curves
                if other_curve.chosen and other_curve.name != self.curve
            ),
        )
        places = [place for curve in curves if (place := self._farthest_point(view, curve)) is not None]
        line = wording.line(view, [place.line for place in places])
        visible = [place for place in places if place.is_visible]
        farthest = max(visible, key=lambda place: (not place.is_allowed, place.distance), default=None)
        within = [place.name for place in places if place.is_allowed]
        if not within:
            relation = "leaves" if self.follows else "falls below" if self.never_below else "rises above"
            return wording.shortened(f"{places[0].name} {relation} {line}", _clause_on_farthest(farthest))
        gap = max(place.distance for place in places)
        exact = f" within {number(gap, 2)}" if self.follows and gap and farthest is None else ""
        texts = [
            f"{wording.listed(within, limit)} {self._relation_in_words(within)} {line}{exact}"
            for limit in range(wording.MOST_NAMES, 0, -1)
        ]
        fitting = (text for text in texts if wording.fits(f"{text}{_clause_on_farthest(farthest)}"))
        return wording.shortened(next(fitting, texts[0]), _clause_on_farthest(farthest))

    def _relation_in_words(self, names: Sequence[str]) -> str:
        """Return a verb phrase such as "never fall below", for the curves that satisfy the claim."""
        if self.follows:
            return wording.agree(names, "follow")
        verb = wording.agree(names, "fall" if self.never_below else "rise")
        return f"never {verb} {'below' if self.never_below else 'above'}"

    def _farthest_point(self, view: View, curve: CurveView) -> _Farthest | None:
        """Return the evaluation point at which the curve is farthest on the wrong side of its theory line.

        If all points are within the tolerance, return the point with the largest distance from the line, on
        either side. Return None if the curve has no theory line, or no evaluation points.
        """
        try:
            line = line_of(view, self.kind_of_line, curve.name)
        except KeyError:
            return None
        x, gap, tolerance, _ = self._gap_and_tolerance(view, curve, line)
        if not len(x):
            return None
        beyond = self._distance_beyond(gap)
        is_allowed = bool((beyond <= tolerance).all())
        distance = np.abs(gap) if is_allowed else beyond
        at = int(np.argmax(distance))
        height = float(np.interp(x[at], line.x, line.y))
        y, level = (wording.value(view, value) for value in (height + float(gap[at]), height))
        name = wording.called(view, curve)
        sentence = f"{wording.place(view, x[at])} {name} is at {y} (theory line: {level})"
        return _Farthest(name, line, is_allowed, float(distance[at]), sentence, y != level)

    def _gap_and_tolerance(
        self, view: View, curve: CurveView, line: LineView
    ) -> tuple[Floats, Floats, Floats, Floats | None]:
        """Return x, the gap (curve − theory line) at x, the allowed gap, and the gap's standard error."""
        sound = curve.ends.sound & ~np.isnan(curve.y)
        x, y = curve.x[sound], curve.y[sound]
        errors = _errors_of_gap(curve, line)
        error = None if errors is None else errors[sound]
        # Rounding errors are relative to the first value: they do not shrink while a loss falls to 0.
        within = view.quantity.rounding * y[:1] if self.within is None else self.within
        tolerance = within + (self.standard_errors or 0.0) * (np.zeros_like(x) if error is None else error)
        return x, y - np.interp(x, line.x, line.y), tolerance, error

    def _distance_beyond(self, gap: Floats) -> Floats:
        """Return how far a curve is on the wrong side of its theory line.

        With `follows`, return how far it is from the line.
        """
        return -gap if self.never_below else gap if self.never_above else np.abs(gap)


def _errors_of_gap(curve: CurveView, line: LineView) -> Floats | None:
    """Return the standard error of the gap between a curve and its theory line, at each x of the curve.

    If the line has a value for each replica, the gap is computed over the same subsets of replicas for both.
    Otherwise, the standard error of the gap is that of the curve.
    """
    if line.of_some is None:
        return curve.stderr

    def gap(replicas: Sequence[int]) -> Floats:
        return curve.over(replicas) - np.interp(curve.x, line.x, line.over(replicas))

    return reductions.standard_error(curve.summary, curve.replicas, gap)
