"""Converts growing curves to series: smoothing, thinning, colours, line styles and letters."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np

from engine.pictures.view import increases
from engine.pictures.wording import short_name
from hadamard_tui.charts.plots.look import Look
from hadamard_tui.charts.series import BOUND_STYLE, Axes, LineStyle, Series
from hadamard_tui.colours import palette

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, KindPlace, View


T = TypeVar("T")

Key = tuple[int, int, int]


class BufferCache(Generic[T]):
    """Cache with one value per buffer. A buffer is an array with the values of a growing curve.

    Each column of a buffer has a separate value in the cache. All slices that begin at the start of a buffer
    share the buffer's value. A slice cannot be the key, because each redraw of the chart makes new slices.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._entries: dict[Key, tuple[weakref.ref[object], T]] = {}

    def of(self, array: np.ndarray) -> T:
        """Return the value for the growing buffer that `array` is a slice of."""
        buffer = array if array.base is None else array.base
        key = id(buffer), array.__array_interface__["data"][0], array.strides[0]
        if key not in self._entries:
            try:
                alive: weakref.ref[object] = weakref.ref(buffer, lambda _: self._entries.pop(key, None))
            except TypeError:  # a bytes object allows no weak reference
                return self._make()
            self._entries[key] = alive, self._make()
        return self._entries[key][1]


class Sums:
    """Cumulative sums of a growing curve's values, and cumulative counts of its values other than NaN."""

    def __init__(self) -> None:
        self._sums = np.zeros((2, 1))
        self._count = 0

    def mean(self, y: np.ndarray, at: np.ndarray, half: int) -> np.ndarray:
        """Return the moving average of y at each index i in `at`: the mean of y[i − h … i + h], h = `half`.

        Near the ends of y, h is smaller. If y[i] is NaN, the mean is NaN. From call to call, y may grow, but
        its earlier values must not change.
        """
        if len(y) > self._count:
            self._append_sums(y)
        reach = np.minimum(half, np.minimum(at, len(y) - 1 - at))
        total, points = self._sums[:, at + reach + 1] - self._sums[:, at - reach]
        with np.errstate(invalid="ignore"):
            return np.where(np.isnan(y[at]), np.nan, total / points)

    def _append_sums(self, y: np.ndarray) -> None:
        if len(y) >= self._sums.shape[1]:
            longer = np.zeros((2, 2 * len(y) + 1))
            longer[:, : self._count + 1] = self._sums[:, : self._count + 1]
            self._sums = longer
        defined = ~np.isnan(y[self._count :])
        new = np.stack([np.where(defined, y[self._count :], 0.0), defined])
        begin, end = self._count, len(y)
        self._sums[:, begin + 1 : end + 1] = np.cumsum(new, axis=1) + self._sums[:, begin, None]
        self._count = end


_sums_of = BufferCache(Sums)


def smoothed(y: np.ndarray, at: np.ndarray, half: int) -> np.ndarray:
    """Return a moving average of a curve at the indices `at`, over `half` values on each side.

    Args:
        y: a slice from the start of a growing buffer, for which cumulative sums are cached.
    """
    return _sums_of.of(y).mean(y, at, half)


BLOCKS = (8, 64, 512, 4096)
"""Possible sizes of blocks of points. Only the lowest and the highest point of a block are drawn."""

ENOUGH = 512
"""Minimum number of blocks in the drawn part of a curve.

With so many blocks, a block is narrower than a dot on a screen of 250 columns.
"""

SHORT = BLOCKS[0] * ENOUGH
"""Number of points in the drawn part of a curve below which all points are drawn."""


class Thinning:
    """Cache for drawing a long curve with few points: the lowest and the highest point of every full block.

    A block is a fixed number of adjacent points. With the cache, a redraw need not search all points again.
    """

    def __init__(self) -> None:
        self._extremes: dict[int, np.ndarray] = {}

    def pick(self, y: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return indices of points that suffice to draw y[first:last], in increasing order.

        The points include the lowest and the highest point of every block of adjacent points. Between calls,
        y may grow, but its earlier values must not change.
        """
        block = max((size for size in BLOCKS if (last - first) // size >= ENOUGH), default=1)
        if block == 1:
            return np.arange(first, last)
        extremes = self._extremes_of_blocks(y, block, last)
        begin, end = -(-first // block), last // block
        return np.concatenate(
            [np.arange(first, begin * block), extremes[begin:end].ravel(), np.arange(end * block, last)]
        )

    def _extremes_of_blocks(self, y: np.ndarray, block: int, last: int) -> np.ndarray:
        """Return the indices of the lowest and the highest point in each block of a curve, [blocks, 2].

        A block has `block` adjacent points. Only full blocks up to index `last` of y are included. Blocks
        that are not cached yet are searched.
        """
        extremes = self._extremes.get(block, np.empty((0, 2), dtype=np.intp))
        done, full = len(extremes), last // block
        if full > done:
            new = y[done * block : full * block].reshape(-1, block)
            gap = np.isnan(new)
            low, high = (np.where(gap, end, new) if gap.any() else new for end in (np.inf, -np.inf))
            positions = np.stack([low.argmin(1), high.argmax(1)], axis=1)
            positions.sort(axis=1)
            extremes = np.concatenate([extremes, positions + np.arange(done, full)[:, None] * block])
            self._extremes[block] = extremes
        return extremes


_thinning_of = BufferCache(Thinning)


def thinned(x: np.ndarray, y: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return indices of points that suffice to draw a curve for x from `low` to `high`.

    The drawn part of the curve includes the last point before `low` and the first point after `high`. If this
    part has at least SHORT points, every full block of adjacent points is reduced to its lowest and its
    highest point.

    Args:
        x: in increasing order, or in any order if `low` and `high` are infinite.
        y: a slice from the start of a growing buffer, for which extreme points are cached.
    """
    first = max(int(np.searchsorted(x, low)) - 1, 0)
    last = min(int(np.searchsorted(x, high, side="right")) + 1, len(x))
    return _thinning_of.of(y).pick(y, first, last) if last - first >= SHORT else np.arange(first, last)


RESPECT_STYLES: dict[bool | None, str] = {True: "green", False: "bold red", None: "yellow"}
"""Text style for a bound that is respected (True), broken (False) or undecided (None)."""

PINNED_STYLES: tuple[LineStyle, ...] = ("dash-dot", "sparse", "pairs")
"""Line styles of the first, second and third pinned run."""

LETTERS = ascii_uppercase + "ΓΔΘΛΞΠΣΦΨΩБЖИЛЦЧШЭЮЯ"
"""Letters of curves in charts, in the order of the curves."""

SMALL_LETTERS = ", small letters"
"""Text after the name of a pinned run in the legend."""

SMOOTHED_SHARE = 1 / 32
"""Fraction of the x-axis over which a smoothed curve is averaged on each side of a point."""

Ground = Callable[[np.ndarray], np.ndarray]
"""Function of x that is subtracted from a curve."""


class Plot(NamedTuple):
    """Content of a chart."""

    series: Sequence[Series]
    axes: Axes
    note: str = ""
    """Remarks on the data, such as "A: diverged at n = 256", which the app and files show."""
    playhead: float | None = None
    smoothed: str = ""
    """Width of the moving average as text; empty if no curve is smoothed."""
    sentences: Sequence[str] = ()
    """Sentences to write in free space, from top to bottom, if there is room for all of them."""
    screen_note: str = ""
    """Remarks on the state of the app, such as a refused scale, which files do not show."""

    @property
    def file_note(self) -> str:
        return " · ".join(filter(None, (self.note, self.smoothed)))


class Pen(msgspec.Struct, frozen=True):
    """Converts the curves of one run to drawable series. Points beyond the playhead are faint.

    Args:
        number: 0 for the run on the screen, and 1, 2, … for pinned runs, which are drawn completely.
    """

    look: Look
    number: int = 0

    def draw(self, curve: CurveView, ground: Ground = np.zeros_like) -> list[Series]:
        """Return the series of a curve.

        The series are the part up to the playhead and, drawn faint, the part beyond the playhead. If the
        curve is smoothed, its unsmoothed points are a third series, also faint.

        Args:
            ground: function of x that is subtracted from the curve.
        """
        look, options = self.look, self.look.resolved
        length, past = (len(curve.x),) * 2 if self.number else (look.length(curve), look.past(curve))
        x, y = curve.x[:length], curve.y[:length]
        low, high = (options.window if increases(curve) else None) or (-np.inf, np.inf)
        picked = thinned(x, y, low, high)
        picked = picked[~np.isnan(y[picked])]  # expensive measures are missing at some points
        if curve.places.is_passed:
            picked = picked[_is_furthest(x[picked])]
        at, under = x[picked], ground(x[picked])
        raw = y[picked] - under
        shown, band, lines = raw, None, []
        tint, style = colour_of(curve), self._line_style(curve)
        if options.smooth and length and curve.places.clock is not None:
            shown = smoothed(y, picked, _half_window(curve)) - under
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
        curve_name = "" if self.number else short_name(look.view, curve)
        if curve_name and not len(picked) and curve.ends.ended and (curve.ends.lost == curve.replicas).any():
            curve_name += f" ({curve.ends.fate})"  # otherwise, the legend has a name without a curve
        lines.append(
            Series(
                curve_name,
                at[before],
                shown[before],
                tint,
                style=style,
                band=band,
                mark=self._curve_letter(curve),
            )
        )
        return lines

    def _line_style(self, curve: CurveView) -> LineStyle:
        if self.number:
            return pinned_style(self.number)
        return style_of(curve)

    def _curve_letter(self, curve: CurveView) -> str | None:
        letter = letter_of(curve)
        return (letter.lower() if self.number else letter) or None


def _is_furthest(x: np.ndarray) -> np.ndarray:
    """Return for each point of a curve whether its x is beyond the x of all points before it.

    "Beyond" means in the direction from the first x to the last x. Only such points are drawn.
    """
    along = x if not len(x) or x[-1] >= x[0] else -x
    before = np.maximum.accumulate(np.concatenate([[-np.inf], along]))[:-1]
    return np.asarray(along > before)


def smoothing(look: Look) -> str:
    reaches = [
        _half_window(curve) for curve in look.view.curves if curve.places.clock is not None and len(curve.x)
    ]
    if not (look.options.smooth and reaches):
        return ""
    return f"averaged over ± {max(reaches)} point{'s' * (max(reaches) > 1)}"


def _half_window(curve: CurveView) -> int:
    """Return half the width of the moving average, in evaluation points."""
    return max(1, round(curve.places.planned * SMOOTHED_SHARE))


def mark(number: int) -> str:
    return LETTERS[number % len(LETTERS)]


def colour(place: KindPlace | None) -> str:
    return theory() if place is None else palette.current().of(place)


def letter_of(curve: CurveView) -> str:
    """Return the letter of a curve. Reference learners have none: they are drawn like theory lines."""
    return "" if curve.training.is_reference else mark(curve.number)


def letters(view: View) -> dict[str, str]:
    return {curve.name: letter_of(curve) for curve in view.curves if not curve.training.is_reference}


def colour_of(curve: CurveView) -> str:
    return colour(curve.kind_place)


def style_of(curve: CurveView) -> LineStyle:
    """Return a line style that shows whether a proved lower bound applies to the learner of a curve."""
    return BOUND_STYLE if curve.training.is_reference or curve.training.is_bound else "solid"


def theory(proved: bool = True) -> str:
    return palette.current().theory if proved else palette.current().unproved


def others() -> str:
    return palette.current().others


def pinned_style(run: int) -> LineStyle:
    return PINNED_STYLES[(run - 1) % len(PINNED_STYLES)]
