"""From a curve to series: its past and what lies ahead of it, in the colour, style and letter that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from engine.pictures.view import increases
from engine.pictures.wording import short_name
from hadamard_tui.charts.look import Look
from hadamard_tui.charts.series import Axes, LineStyle, Series
from hadamard_tui.charts.smoothing import smoothed
from hadamard_tui.charts.thinning import thinned
from hadamard_tui.looks import palette

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, KindPlace, View

RESPECT_STYLES: dict[bool | None, str] = {True: "green", False: "bold red", None: "yellow"}
"""The style of the words that a bound is respected, broken, or not decided."""

BOUND_STYLE: LineStyle = "long"
"""Line style of learners that a proved lower bound binds, and of references; other curves are solid."""

PINNED_STYLES: tuple[LineStyle, ...] = ("dash-dot", "sparse", "pairs")
"""Line styles of pinned runs; those of bounds are dashed and dotted."""

LETTERS = ascii_uppercase + "ΓΔΘΛΞΠΣΦΨΩБЖИЛЦЧШЭЮЯ"
"""Those of learners, in the order of their numbers."""

SMALL_LETTERS = ", small letters"
"""What the legend says of a pinned run beside its name."""

SMOOTHED_SHARE = 1 / 32
"""A smoothed curve is the mean over so much of the x-axis on either side."""

Ground = Callable[[np.ndarray], np.ndarray]
"""From x to what a curve is measured from; 0 by default."""


class Plot(NamedTuple):
    """What a chart is to show."""

    series: Sequence[Series]
    axes: Axes
    note: str = ""
    playhead: float | None = None
    smoothed: str = ""
    """How far curves were smoothed, in words; nothing where they were not."""


class Pen(msgspec.Struct, frozen=True):
    """How the curves of one run are drawn: as far as they are shown, and faint beyond the playhead.

    Args:
        number: 0 for the run on the screen, 1, 2, … for the pinned ones, which are drawn as a whole.
    """

    look: Look
    number: int = 0

    def draw(self, curve: CurveView, ground: Ground = np.zeros_like) -> list[Series]:
        """A curve: its past, and faint what was smoothed away and what lies ahead.

        Args:
            ground: what is subtracted from it.
        """
        look, options = self.look, self.look.resolved
        length, past = (len(curve.x),) * 2 if self.number else (look.length(curve), look.past(curve))
        x, y = curve.x[:length], curve.y[:length]
        low, high = (options.window if increases(curve) else None) or (-np.inf, np.inf)
        picked = thinned(x, y, low, high)
        picked = picked[~np.isnan(y[picked])]  # not everything is measured at every record
        if curve.places.is_passed:
            picked = picked[_passed(x[picked])]
        at, under = x[picked], ground(x[picked])
        raw = y[picked] - under
        shown, band, lines = raw, None, []
        tint, style = colour_of(curve), self._style(curve)
        if options.smooth and length and curve.places.clock is not None:
            shown = smoothed(y, picked, _reach(curve)) - under
            lines.append(Series("", at, raw, tint, faint=True))
        if curve.stderr is not None and options.band and not self.number:
            error = curve.stderr[:length][picked]
            error = np.where(np.isfinite(error), error, np.nan)
            band = (shown - error, shown + error)
        till = int(np.searchsorted(picked, past))
        if till < len(at):
            begin = max(till - 1, 0)
            lines.append(Series("", at[begin:], shown[begin:], tint, faint=True, style=style))
        before = np.s_[:till]
        band = band and (band[0][before], band[1][before])
        name = "" if self.number else short_name(look.view, curve)
        lines.append(
            Series(name, at[before], shown[before], tint, style=style, band=band, mark=self._mark(curve))
        )
        return lines

    def _style(self, curve: CurveView) -> LineStyle:
        if self.number:
            return pinned_style(self.number)
        return style_of(curve)

    def _mark(self, curve: CurveView) -> str | None:
        letter = letter_of(curve)
        return (letter.lower() if self.number else letter) or None


def _passed(x: np.ndarray) -> np.ndarray:
    """Where x is beyond all before, on its way from the first to the last: what goes back is not drawn."""
    along = x if not len(x) or x[-1] >= x[0] else -x
    before = np.maximum.accumulate(np.concatenate([[-np.inf], along]))[:-1]
    return np.asarray(along > before)


def smoothing(look: Look) -> str:
    """How far the curves of a view are smoothed, in words; nothing where they are not."""
    reaches = [_reach(curve) for curve in look.view.curves if curve.places.clock is not None and len(curve.x)]
    if not (look.options.smooth and reaches):
        return ""
    return f"smoothed over ± {max(reaches)} record{'s' * (max(reaches) > 1)}"


def _reach(curve: CurveView) -> int:
    """Over so many records on either side a curve is smoothed."""
    return max(1, round(curve.places.planned * SMOOTHED_SHARE))


def mark(number: int) -> str:
    """The letter of learner `number`, the same in charts and tables."""
    return LETTERS[number % len(LETTERS)]


def number_of(mark: str) -> int:
    """The number of the learner, or of its pinned run, that has a letter; −1 for what is no letter."""
    return LETTERS.find(mark.upper())


def colour(place: KindPlace | None) -> str:
    """The colour of a curve: hue by the kind of its learner, lightness by its place among these."""
    return theory() if place is None else palette.current().of(place)


def letter_of(curve: CurveView) -> str:
    """The letter of a curve; nothing for that of a reference, which is drawn as a line of the theory."""
    return "" if curve.training.is_reference else mark(curve.number)


def letters(view: View) -> dict[str, str]:
    """The letters of the curves of a view, by their names, references left out."""
    return {curve.name: letter_of(curve) for curve in view.curves if not curve.training.is_reference}


def colour_of(curve: CurveView) -> str:
    """The colour of a curve; a reference has that of the theory."""
    return colour(curve.kind_place)


def style_of(curve: CurveView) -> LineStyle:
    """The line style of a curve, which says whether a proved bound binds its learner."""
    return BOUND_STYLE if curve.training.is_reference or curve.training.is_bound else "solid"


def theory(proved: bool = True) -> str:
    """The colour of lines of the theory."""
    return palette.current().theory if proved else palette.current().unproved


def others() -> str:
    """The colour of what is only context."""
    return palette.current().others


def pinned_style(run: int) -> LineStyle:
    """The line style of pinned run 1, 2, …."""
    return PINNED_STYLES[(run - 1) % len(PINNED_STYLES)]
