"""Claim about the slope of a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.claims import Comparing, Floats, Outcome, standard_error, unfinished
from engine.core.expressions import number
from engine.core.parts import BadField
from engine.pictures import wording
from engine.pictures.wording import x_name

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View


class Slope(Comparing, frozen=True, kw_only=True, tag="slope"):
    """Exponent of the power law through a curve: the least-squares slope of log y against log x.

    The fit uses all x positions at which every replica has a finite value. For the logarithms, positions with
    x ≤ 0 or y ≤ 0 are left out. With `linear`, the claim is about the slope of y against x. With
    `per_doubling`, it is about the slope of y against log₂ x, and positions with x ≤ 0 are left out.
    """

    example: ClassVar[str] = '{kind = "slope", curve = "GD", between = [0.9, 1.15]}'

    linear: Annotated[
        bool, Meta(title="linear", description="fit y against x, instead of log y against log x")
    ] = False

    per_doubling: Annotated[
        bool,
        Meta(title="per doubling", description="fit y against log₂ x: by how much y changes if x doubles"),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linear and self.per_doubling:
            raise BadField("per_doubling", "a fit is either against x or against log₂ x; leave `linear` out")

    def finding(self, view: View, outcome: Outcome) -> str:
        """Return a sentence with the fitted slope, or with the laws of all curves that contrast with it."""
        curve = self.of(view)
        if laws := self._contrasting_laws(view, curve):
            return laws
        first = f"{wording.quantity(view)} of {wording.called(view, curve)} {self._fitted_law(view, outcome)}"
        places = curve.x[curve.ends.sound & self._is_usable(curve.x, curve.y)]
        other_curves = [
            other_curve for other_curve in view.curves if other_curve.chosen and other_curve is not curve
        ]
        values = wording.enumerated(
            view, *wording.named_values(view, float(places.max()), curve, other_curves)
        )
        subject = "they are" if wording.verb(view) == "are" else "it is"
        last = f"at {x_name(view)} = {number(float(places.max()))}"
        place = "at the end" if view.picture.x == view.axes.clock else last
        text = f"{first[0].upper()}{first[1:]}; {place} {subject} {values}"
        is_short = other_curves and wording.fits(text)
        return text if is_short else f"{wording.span(view, places)}, {first}"

    def _contrasting_laws(self, view: View, curve: CurveView) -> str:
        """Return the scaling laws of all curves, if `curve` is the only one that follows a power law.

        The text is empty if other curves follow a power law, too, or if no other curve follows a logarithm.
        """
        laws = {
            other_curve.name: law
            for other_curve in view.curves
            if other_curve.chosen and (law := wording.fitted_law(other_curve.x, other_curve.y)) is not None
        }
        powers = [name for name, law in laws.items() if law.exponent is not None]
        is_contrast = powers == [curve.name] and len(laws) > 1 and not (self.linear or self.per_doubling)
        return wording.laws_in_words(view) if is_contrast else ""

    def _fitted_law(self, view: View, outcome: Outcome) -> str:
        """Return the fitted law as a predicate, such as "goes like d^0.98"."""
        assert outcome.measured is not None, "a finding is of what was measured"
        slope, x = number(outcome.measured), x_name(view)
        is_plural = wording.verb(view) == "are"
        curve = self.of(view)
        if wording.is_constant(curve.y[curve.ends.sound & self._is_usable(curve.x, curve.y)]):
            return f"{'do' if is_plural else 'does'} not change with {x}"
        if self.linear:
            return f"{'change' if is_plural else 'changes'} by {slope} per unit of {x}"
        if self.per_doubling:
            return f"{'change' if is_plural else 'changes'} by {slope} per doubling of {x}"
        return f"{'go' if is_plural else 'goes'} like {x if x.isidentifier() else f'({x})'}^{slope}"

    def judge(self, view: View) -> Outcome:
        curve = self.of(view)
        if why := unfinished(view, curve):
            return self.fails(why)
        usable = curve.ends.sound & self._is_usable(curve.x, curve.y)
        positions = len(np.unique(curve.x[usable]))
        if positions < 2:
            positive = "" if self.linear else " with x > 0" if self.per_doubling else " with x > 0 and y > 0"
            return self.fails(f"a slope needs two x positions{positive}, but the curve has {positions}")
        measured = self._fitted_slope(curve.x[usable], curve.y[usable])
        stderr = standard_error(lambda take: self._fitted_slope(curve.x[usable], take(curve)[usable]), curve)
        count = np.count_nonzero(usable)
        return self.compared(measured, stderr, f"over {count} points the slope is ", view.picture.summary)

    def _is_usable(self, x: Floats, y: Floats) -> np.ndarray:
        finite = np.isfinite(x) & np.isfinite(y)
        if self.linear:
            return finite
        return finite & (x > 0) & (self.per_doubling | (y > 0))

    def _fitted_slope(self, x: Floats, y: Floats) -> float:
        usable = self._is_usable(x, y)
        x, y = x[usable], y[usable]
        if self.per_doubling:
            x = np.log2(x)
        elif not self.linear:
            x, y = np.log(x), np.log(y)
        # x is centred, because Σ x y − n x̄ ȳ would cancel if the places lie far from 0.
        apart = x - x.mean() if len(x) else x
        spread = float(np.square(apart).sum())
        return float(apart @ y) / spread if spread > 0 else float("nan")
