"""Look at a picture: options, limits of the axes, shown extent, and the place of the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from engine.core.expressions import number
from engine.pictures.bounds import bound_heights
from engine.pictures.view import along_records, increases, negligible
from engine.pictures.wording import x_name, y_name
from hadamard_tui.charts.series import Limits, limits

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from hadamard_tui.charts.series import Series


Axis = Literal["x", "y"]

Ruler = Callable[[float], float]

NARROWEST = 4
"""Minimum number of records in a zoom."""

ROUNDING = 1e-9
"""Minimum width of a zoom, relative to its numbers; a narrower zoom looks like a point."""


class ChartOptions(msgspec.Struct, frozen=True):
    """Chart options that a person has chosen; a refresh does not change them.

    Args:
        x_log, y_log: whether the axis is logarithmic; None for the choice of the picture.
        multiples: whether each learner has a chart of its own.
        difference: whether the curves of the last pinned run are subtracted.
        window: the zoomed part of the x-axis; None for the complete axis.
    """

    x_log: bool | None = None
    y_log: bool | None = None
    smooth: bool = False
    band: bool = True
    multiples: bool = False
    difference: bool = False
    window: Limits | None = None

    def __post_init__(self) -> None:
        if self.window is not None and not _is_wide(self.window):
            message = f"{[*self.window]} is not a window: give two numbers, the smaller first, as [2, 9.5]"
            raise ValueError(message)

    def zoomed(self, by: float, around: float, x: np.ndarray) -> ChartOptions:
        """Return options with the window scaled by `by` around a fixed `around`; no window if it is too wide.

        Args:
            x: the increasing places on the x-axis.
        """
        to, back, first, last = self._ruler(x)
        low, high = (first, last) if self.window is None else map(to, self.window)
        if low >= high:
            low, high = first, last
        width = max((high - low) * by, min(NARROWEST, len(x) - 1) * (last - first) / max(len(x) - 1, 1))
        if width >= last - first:
            return replace(self, window=None)
        share = min(max((to(around) - low) / (high - low), 0.0), 1.0)
        return self._with(_within(to(around) - share * width, width, first, last, back))

    def following(self, place: float, x: np.ndarray) -> ChartOptions:
        """Return options with the window moved to contain `place`.

        A window of another x-axis may have no width on this axis, which is then shown in full.
        """
        if self.window is None or self.window[0] <= place <= self.window[1]:
            return self
        to, back, first, last = self._ruler(x)
        width = to(self.window[1]) - to(self.window[0])
        return self._with(_within(to(place) - width / 2, width, first, last, back))

    def _with(self, window: Limits) -> ChartOptions:
        return replace(self, window=window if _is_wide(window) else None)

    def x_limits(self, x: np.ndarray) -> Limits:
        """Return the limits of an x-axis with records at x; a log axis starts at the first x above 0."""
        low, high = self.window or (float(x[0]), float(x[-1]))
        if self.x_log:
            above = x[np.searchsorted(x, 0.0, side="right") :]
            low = max(low, float(above[0])) if len(above) else low
        return low, high if low < high else low + 1.0

    def _ruler(self, x: np.ndarray) -> tuple[Ruler, Ruler, float, float]:
        """Return the map from x to the axis, its inverse, and the ends of the axis."""
        above = x[np.searchsorted(x, 0.0, side="right") :] if self.x_log else x[:0]
        if not len(above):
            return float, float, float(x[0]), float(x[-1])
        least = float(above[0])
        return lambda x: math.log(max(x, least)), math.exp, math.log(least), math.log(float(x[-1]))


def _is_wide(window: Limits) -> bool:
    """Return whether the ends of a window differ by a finite, visible amount."""
    low, high = window
    return ROUNDING * max(abs(low), abs(high)) < high - low < math.inf


def _within(low: float, width: float, first: float, last: float, back: Ruler) -> Limits:
    low = min(max(low, first), last - width)
    return back(low), back(low + width)


def why_not_log(axis: Axis, values: np.ndarray) -> str:
    """Return the reason why an axis over these values cannot be logarithmic; empty if it can."""
    if np.count_nonzero(values > 0) < 2:
        return f"the {axis}-axis stays linear: fewer than two of its values are above 0"
    if axis == "y" and np.nanmin(values) < 0:
        return "the y-axis stays linear: some values are below 0"
    return ""


STEPS = 8
"""Steps per span: limits move by their span, rounded up to a power of two, over STEPS."""

DECADES = 8
"""Decades of a logarithmic axis.

An axis that a person chose reaches this many decades below its top. An axis of a picture contains all of its
curves except rounding, and theory lines down to this many decades below the curves.
"""

PEAK = 4
"""Multiple of the highest start up to which a risk is shown."""

GAP = 1e3
"""Factor between rounding errors and all larger values."""


def y_limits(values: np.ndarray, options: ChartOptions, own_log: bool) -> tuple[Limits | None, str]:
    """Return logarithmic limits, or None for linear limits; and the reason if a requested log is impossible.

    Args:
        values: the visible values, finite.
        own_log: whether the axis is logarithmic by default.
    """
    refused = why_not_log("y", values) if options.y_log and len(values) else ""
    wanted = own_log if options.y_log is None else options.y_log
    if not wanted or refused or not (values > 0).any():
        return None, refused
    return log_limits(values, DECADES if options.y_log else np.inf), ""


def rounded_off(curves: Sequence[np.ndarray], rounding: float) -> float:
    """Return the largest value that counts as 0.

    A gap separates it from larger values, and no curve lies entirely below it.

    Args:
        curves: the visible values of each curve, finite.
        rounding: largest rounding error of 0, relative to the largest value.
    """
    above = [y[y > 0] for y in curves]
    values = np.sort(np.concatenate([*above, np.empty(0)]))
    tiny = (values[:-1] <= rounding * values[-1:]) & (values[1:] > GAP * values[:-1])
    least = min((float(y.max()) for y in above if len(y)), default=0.0)
    return max((value for value in values[:-1][tiny].tolist() if value < least), default=0.0)


def far_below(curves: Sequence[np.ndarray], rounding: float) -> float:
    """Return the value below which a log axis ignores theory lines: DECADES below all curves.

    Args:
        curves: the visible values of each curve, finite.
        rounding: the largest value that stands for 0.
    """
    above = [y[y > rounding] for y in curves]
    return min((float(y.min()) for y in above if len(y)), default=0.0) * 10.0**-DECADES


def log_limits(values: np.ndarray, decades: float) -> Limits:
    """Return limits of a logarithmic axis for all values above 0, over at most `decades` decades."""
    top = float(values.max())
    bottom = max(float(values[values > 0].min()), top * 10.0**-decades)
    room = (top / bottom) ** 0.03 if top > bottom else 2.0
    return bottom / room, top * room


def risk_limits(starts: Sequence[float], curves: Sequence[np.ndarray]) -> Limits:
    """Return limits from 0 to a little above the highest start, or the peak of a curve that falls again.

    A curve that ends beyond twice the highest start is diverging, and is cut at the border.
    """
    start = max(starts)
    peaks = [min(float(y.max()), (PEAK if y[-1] <= 2 * start else 2) * start) for y in curves]
    step = start / 4 or 0.25
    return 0.0, max(step, np.ceil(max(peaks) / step - 1e-6) * step) * 1.04


def still_limits(values: np.ndarray) -> Limits:
    """Return limits for values that may still grow; they move in steps, not with every value."""
    low, high = limits(values)
    step = 2.0 ** math.ceil(math.log2(high - low)) / STEPS
    return math.floor(low / step) * step, math.ceil(high / step) * step


SMALL, HALF = 0.01, 0.5
"""Shares of the starting bound.

If the bound ends below SMALL, all learners look alike at the end. Numbers are then shown where it was at
HALF.
"""

STORED = "stored"
"""Word that marks stored curves and pictures in charts."""


class Pinned(NamedTuple):
    """Other run in a picture: a pinned run or the previous run."""

    name: str
    """Value in which the run differs from the run on the screen, as "d = 128", or the name of the run."""

    view: View
    change: str = ""
    """Differences from this run to the run on the screen, as "d 128 → 256"; empty if there are none."""


class Look(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """View together with the options, extent and place that a person has chosen.

    Args:
        point: the number of the point whose run is played.
        newest: the number of the last computed point; None before it.
        shown: the shown extent of the run, on its clock; all of it by default.
        place: the playhead on that clock, at most `shown`.
        cursor: the place that a person has chosen on an x-axis that is not a run's clock.
        height: the row that a person has chosen on a heat map.
        pinned: other runs in the same picture.
        stopped: whether the run was stopped before its end.
        guesses: guessed x at which a learner's loss falls below a tenth, by name; None for "never".
        ghost: the same picture of the previous run, drawn faint.
        stored: the stored curves of the preset, drawn faint until the run ends; files omit them.
        moved: whether a person has moved the playhead.
        is_complete: whether all points of the axes are computed.
    """

    view: View
    point: int = 0
    newest: int | None = None
    shown: float = np.inf
    place: float = np.inf
    options: ChartOptions = msgspec.field(default_factory=ChartOptions)
    cursor: float | None = None
    height: float | None = None
    pinned: Sequence[Pinned] = ()
    stopped: bool = False
    ghost: Pinned | None = None
    stored: Sequence[Series] = ()
    guesses: Mapping[str, float | None] = msgspec.field(default_factory=dict)
    moved: bool = False
    is_complete: bool = False

    def is_as(self, other: Look) -> bool:
        """Return whether another look is equal, so that its computed content can be reused."""
        return all(
            getattr(self, field_name) == getattr(other, field_name) for field_name in self.__struct_fields__
        )

    @cached_property
    def beneath(self) -> Look | None:
        """Look at the picture beneath, at the same place; its y-axis keeps the scale of its picture."""
        if self.view.beneath is None:
            return None
        ghost, *pinned = (
            None if run is None or run.view.beneath is None else run._replace(view=run.view.beneath)
            for run in (self.ghost, *self.pinned)
        )
        return replace(
            self,
            view=self.view.beneath,
            options=replace(self.options, y_log=None),
            ghost=ghost,
            pinned=[run for run in pinned if run is not None],
            stored=(),
            guesses={},
        )

    @cached_property
    def resolved(self) -> ChartOptions:
        """Chart options, with the picture's choice in place of None."""
        x_log, y_log = self.options.x_log, self.options.y_log
        return replace(
            self.options,
            x_log=self.view.axes.x_log if x_log is None else x_log,
            y_log=self.view.axes.y_log if y_log is None else y_log,
        )

    @cached_property
    def x(self) -> float | None:
        """Place on the x-axis that a person looks at; None without values."""
        if along_records(self.view):
            return self.view.x_of(self.point, min(self.place, self.shown))
        places = self.view.known_places
        if not len(places):
            return None
        if self.is_complete and self.cursor is None:
            return self._common
        newest = self.point if self.newest is None else self.newest
        wanted = self.view.x_of(newest, self.shown) if self.cursor is None else self.cursor
        return float(places[-1]) if wanted is None else self.nearest(wanted)

    @property
    def _common(self) -> float:
        """Last of the places at which the most curves have values."""
        places = self.view.known_places
        places_by_curve = [curve.x[~np.isnan(curve.y)] for curve in self.view.curves] or [places]
        curve_counts = np.sum([np.isin(places, x) for x in places_by_curve], 0)
        return float(places[curve_counts == curve_counts.max()][-1])

    @cached_property
    def shown_at(self) -> float | None:
        """Place of the numbers on the x-axis, usually the place that a person looks at.

        At the end of a run whose bounds fall to about 0, all learners that have seen all rows look alike.
        Until the playhead is moved, numbers are then shown where the bounds were half of those at the start.
        """
        curves = [curve for curve in self.view.curves if curve.places.clock is not None and increases(curve)]
        along = max((curve.x for curve in curves), key=len, default=np.empty(0))
        if self.moved or self.place < self.shown or not self.at_end or not len(along):
            return self.x
        heights = np.max([bound_heights(self.view, curve, along) for curve in self.view.curves], 0)
        if heights[-1] >= SMALL * heights[0]:
            return self.x
        above = np.flatnonzero(heights >= HALF * heights[0])
        return float(along[above[-1]]) if above[-1] else self.x

    @property
    def ended_low(self) -> bool:
        """Whether the run ended with bounds near 0, so that numbers are shown at an earlier place."""
        return self.at_end and self.shown_at != self.x

    @cached_property
    def rounding(self) -> float:
        """Size up to which a value counts as 0. On a log axis, this requires a gap between values."""
        view = self.view
        if not self.resolved.y_log:
            return max(view.quantity.rounding, negligible(view))
        rounded = rounded_off(
            [curve.y[np.isfinite(curve.y)] for curve in view.curves], view.quantity.rounding
        )
        return max(rounded, negligible(view))

    @property
    def shown_at_in_words(self) -> str:
        """Place of the numbers as text, such as "k = 64"; empty if the clock of the run states it."""
        if self.shown_at is None or (along_records(self.view) and self.shown_at == self.x):
            return ""
        words = f"{x_name(self.view)} = {self.view.axes.names.get(self.shown_at) or number(self.shown_at)}"
        return words if self.y is None else f"{words}, {y_name(self.view)} = {number(self.y)}"

    def nearest(self, x: float) -> float:
        """Return the place nearest to x, by ratios on a logarithmic axis."""
        places = self.view.known_places
        by_factors = bool(self.resolved.x_log) and x > 0 and bool((places > 0).all())
        return nearest(places, x, by_factors)

    def clock_at(self, x: float) -> float | None:
        """Return the clock of the played run at the record nearest to x; None before the first record."""
        played = [curve for curve in self.view.curves if self.is_played(curve) and len(curve.x)]
        if not played:
            return None
        longest = max(played, key=lambda curve: len(curve.x))
        assert longest.places.clock is not None, "a curve that is played has a clock"
        return float(longest.places.clock[np.abs(longest.x - x).argmin()])

    @cached_property
    def y(self) -> float | None:
        """Row of a heat map that a person looks at; None without one."""
        rows = np.unique(np.concatenate([*(heat.y for heat in self.view.heats), np.empty(0)]))
        newest = self.point if self.newest is None else self.newest
        wanted = self.view.y_of(newest) if self.height is None else self.height
        return None if wanted is None or not len(rows) else nearest(rows, wanted, False)

    @cached_property
    def at_end(self) -> bool:
        """Whether the playhead is at the planned end of the played run."""
        return self.x is not None and self.x == self.view.x_of(self.point, np.inf)

    @property
    def playhead(self) -> float | None:
        """Place of the vertical line; None at the end of the shown extent."""
        if along_records(self.view):
            return self.x if self.place < self.shown else None
        places = self.view.known_places
        return self.x if len(places) > 1 and self.x != places[-1] else None

    def is_played(self, curve: CurveView) -> bool:
        """Return whether a curve belongs to the played run."""
        return curve.places.clock is not None and curve.training.point == self.point

    def length(self, curve: CurveView) -> int:
        """Return the number of shown places of a curve."""
        return _until(curve.places.clock, self.shown) if self.is_played(curve) else len(curve.x)

    def past(self, curve: CurveView) -> int:
        """Return the number of places of a curve up to the playhead."""
        if self.is_played(curve):
            return _until(curve.places.clock, min(self.place, self.shown))
        if curve.places.clock is None or self.place >= self.shown or self.x is None or not increases(curve):
            return len(curve.x)
        return _until(curve.x, self.x)

    def number_at(self, curve: CurveView, pinned: bool = False) -> int | None:
        """Return the index of the numbers' place in a curve; None if the curve has no value there."""
        if self.is_played(curve) and not pinned and self.shown_at == self.x:
            return self.past(curve) - 1 if self.past(curve) else None
        if self.shown_at is None or not len(curve.x):
            return None
        if curve.places.clock is None:
            return curve.place(self.shown_at)
        if not increases(curve):
            return int(np.abs(curve.x - self.shown_at).argmin())
        reached = _until(curve.x, self.shown_at)
        return reached - 1 if reached else None


def nearest(places: np.ndarray, x: float, by_factors: bool) -> float:
    """Return the place nearest to x."""
    far = np.abs(np.log(places / x)) if by_factors else np.abs(places - x)
    return float(places[far.argmin()])


def _until(places: np.ndarray | None, x: float) -> int:
    """Return the number of increasing places that are at most x."""
    assert places is not None, "a curve that is played has a clock"
    return int(np.searchsorted(places, x, side="right"))
