"""The user's view of a picture: chart options, axis limits, and the x at which values are read."""

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
from engine.pictures.view import along_records, increases, index_at, known_places, negligible
from engine.pictures.wording import x_name, y_name
from hadamard_tui.charts.series import Limits, limits

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from hadamard_tui.charts.series import Series


Axis = Literal["x", "y"]

Ruler = Callable[[float], float]

NARROWEST = 4
"""Minimum number of evaluation points in the shown part of the x-axis."""

ROUNDING = 1e-9
"""Minimum width of the shown part of the x-axis, relative to its limits.

A narrower part would look like a single point.
"""


class ChartOptions(msgspec.Struct, frozen=True):
    """Chart options that the user has chosen. They stay the same when the chart is redrawn.

    Args:
        x_log, y_log: whether the axis is logarithmic; None if the picture decides.
        multiples: whether there is a separate chart for each learner; None if the picture decides.
        difference: whether the curves of the last pinned run are subtracted from the curves.
        window: limits of the part of the x-axis that is shown; None to show the complete axis.
    """

    x_log: bool | None = None
    y_log: bool | None = None
    smooth: bool = False
    band: bool = True
    multiples: bool | None = None
    difference: bool = False
    window: Limits | None = None

    def __post_init__(self) -> None:
        if self.window is not None and not _is_wide(self.window):
            message = f"{[*self.window]} is not a window: give two numbers, the smaller first, as [2, 9.5]"
            raise ValueError(message)

    def zoomed(self, by: float, around: float, x: np.ndarray) -> ChartOptions:
        """Return options with the shown part of the x-axis scaled by the factor `by`.

        The x value `around` stays at its position on the screen. If the scaled part is as wide as the axis,
        the complete axis is shown.

        Args:
            x: x values of the picture, in increasing order.
        """
        to, back, first, last = self._ruler_and_ends(x)
        low, high = (first, last) if self.window is None else map(to, self.window)
        if low >= high:
            low, high = first, last
        width = max((high - low) * by, min(NARROWEST, len(x) - 1) * (last - first) / max(len(x) - 1, 1))
        if width >= last - first:
            return replace(self, window=None)
        share = min(max((to(around) - low) / (high - low), 0.0), 1.0)
        return self._with_window(_limits_within(to(around) - share * width, width, first, last, back))

    def following(self, place: float, x: np.ndarray) -> ChartOptions:
        """Return options with the shown part of the x-axis moved so that it contains the x value `place`.

        A part that already contains `place` is not moved. If the part was chosen for another x-axis, its
        width can be 0 on this x-axis. The complete axis is then shown.
        """
        if self.window is None or self.window[0] <= place <= self.window[1]:
            return self
        to, back, first, last = self._ruler_and_ends(x)
        width = to(self.window[1]) - to(self.window[0])
        return self._with_window(_limits_within(to(place) - width / 2, width, first, last, back))

    def _with_window(self, window: Limits) -> ChartOptions:
        return replace(self, window=window if _is_wide(window) else None)

    def x_limits(self, x: np.ndarray) -> Limits:
        """Return the limits of the shown part of an x-axis, for data at x.

        A log axis starts at the first x above 0.
        """
        low, high = self.window or (float(x[0]), float(x[-1]))
        if self.x_log:
            above = x[np.searchsorted(x, 0.0, side="right") :]
            low = max(low, float(above[0])) if len(above) else low
        return low, high if low < high else low + 1.0

    def _ruler_and_ends(self, x: np.ndarray) -> tuple[Ruler, Ruler, float, float]:
        """Return functions that convert x to a position on the axis and back, and the ends of the axis.

        On a log axis, the position is log x; otherwise, it is x.
        """
        above = x[np.searchsorted(x, 0.0, side="right") :] if self.x_log else x[:0]
        if not len(above):
            return float, float, float(x[0]), float(x[-1])
        least = float(above[0])
        return lambda x: math.log(max(x, least)), math.exp, math.log(least), math.log(float(x[-1]))


def _is_wide(window: Limits) -> bool:
    """Return whether the limits of an axis are finite, and differ by more than rounding errors."""
    low, high = window
    return ROUNDING * max(abs(low), abs(high)) < high - low < math.inf


def _limits_within(low: float, width: float, first: float, last: float, back: Ruler) -> Limits:
    low = min(max(low, first), last - width)
    return back(low), back(low + width)


def why_not_log(axis: Axis, values: np.ndarray) -> str:
    if np.count_nonzero(values > 0) < 2:
        return f"the {axis}-axis stays linear: fewer than two of its values are above 0"
    if axis == "y" and np.nanmin(values) < 0:
        return "the y-axis stays linear: some values are below 0"
    return ""


STEPS = 8
"""Number of steps in the range of an axis whose limits may still grow.

To keep the axis still, its limits are multiples of a step. A step is the range of the values, rounded up to a
power of two, divided by STEPS.
"""

DECADES = 8
"""Maximum number of decades of a logarithmic y-axis that the user has chosen.

If the picture itself makes the axis logarithmic, the axis contains all values of curves except rounding
errors. It then shows theory lines down to this number of decades below the curves.
"""

PEAK = 4
"""Multiple of the highest value at the start of training up to which a risk is shown."""

GAP = 1e3
"""Minimum ratio of the smallest value that is not a rounding error to the largest rounding error."""


def y_limits(values: np.ndarray, options: ChartOptions, own_log: bool) -> tuple[Limits | None, str]:
    """Return a pair: the limits of a logarithmic y-axis (None if the axis must be linear), and a text.

    If the user chose a logarithmic axis but the axis is linear, the text is the reason. Otherwise, it is "".

    Args:
        values: the visible values, all of them finite.
        own_log: whether the picture makes the axis logarithmic if the user has not chosen.
    """
    refused = why_not_log("y", values) if options.y_log and len(values) else ""
    wanted = own_log if options.y_log is None else options.y_log
    if not wanted or refused or not (values > 0).any():
        return None, refused
    return log_limits(values, DECADES if options.y_log else np.inf), ""


def rounded_off(curves: Sequence[np.ndarray], rounding: float) -> float:
    """Return the threshold up to which values on a log axis count as rounding errors of 0.

    All larger values are more than GAP times as large as the threshold. Every curve has a value above the
    threshold. If no value looks like a rounding error, the threshold is 0.

    Args:
        curves: the visible values of each curve, all of them finite.
        rounding: largest computed value that may stand for an exact 0, as a fraction of the largest value of
            all curves.
    """
    above = [y[y > 0] for y in curves]
    values = np.sort(np.concatenate([*above, np.empty(0)]))
    tiny = (values[:-1] <= rounding * values[-1:]) & (values[1:] > GAP * values[:-1])
    least = min((float(y.max()) for y in above if len(y)), default=0.0)
    return max((value for value in values[:-1][tiny].tolist() if value < least), default=0.0)


def far_below(curves: Sequence[np.ndarray], rounding: float) -> float:
    """Return the value below which a log axis does not show theory lines: DECADES decades below all curves.

    Args:
        curves: the visible values of each curve, all of them finite.
        rounding: the largest value that counts as 0.
    """
    above = [y[y > rounding] for y in curves]
    return min((float(y.min()) for y in above if len(y)), default=0.0) * 10.0**-DECADES


def log_limits(values: np.ndarray, decades: float) -> Limits:
    top = float(values.max())
    bottom = max(float(values[values > 0].min()), top * 10.0**-decades)
    room = (top / bottom) ** 0.03 if top > bottom else 2.0
    return bottom / room, top * room


def risk_limits(starts: Sequence[float], curves: Sequence[np.ndarray]) -> Limits:
    """Return limits of the y-axis for losses or other risks, from 0 to a little above the highest peak.

    Peaks above PEAK times the highest starting value are cut off. A curve that ends above twice the highest
    starting value is diverging. Such a curve is cut off at twice the highest starting value.
    """
    start = max(starts)
    peaks = [min(float(y.max()), (PEAK if y[-1] <= 2 * start else 2) * start) for y in curves]
    step = start / 4 or 0.25
    return 0.0, max(step, np.ceil(max(peaks) / step - 1e-6) * step) * 1.04


def still_limits(values: np.ndarray) -> Limits:
    """Return limits of an axis for values that may still grow during a run.

    The limits change in large steps, so that the axis does not move with every new value.
    """
    low, high = limits(values)
    step = 2.0 ** math.ceil(math.log2(high - low)) / STEPS
    return math.floor(low / step) * step, math.ceil(high / step) * step


SMALL, HALF = 0.01, 0.5
"""Fractions of the value that a bound has at the start of a run.

If the bound at the end is below the fraction SMALL, all learners look alike there. The table then shows
values at the last x at which the bound is above the fraction HALF.
"""

STORED = "stored"
"""Word that marks stored curves and pictures on the screen."""


class Pinned(NamedTuple):
    """Another run that is drawn in the same picture, for comparison: a pinned run or the previous run."""

    name: str
    """Setting in which this run differs from the run on the screen, such as "d = 128", or a name."""

    view: View
    change: str = ""
    """Changes from this run to the run on the screen, such as "d 128 → 256"; empty if there are none."""


MOST_TOGETHER = 16
"""Largest number of curves of several learners in one chart, unless the user has chosen.

More curves would cover each other, for example 25 curves in 120×40 cells. So each learner gets a chart.
"""


class Look(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """Data of a picture (a view), with everything that determines the chart that the user sees.

    The clock of a run is the quantity that grows during the run, such as the number of examples.

    Args:
        point: the index of the sweep point whose run is played back.
        newest: the index of the last computed sweep point; None if there is none.
        shown: the value of the run's clock up to which the run is shown; by default, the run is shown
            completely.
        place: the value of the run's clock at the playhead, at most `shown`.
        cursor: the x value that the user has chosen, if x is not the clock of a run; otherwise None.
        height: the y value that the user has chosen on a heat map, or None.
        pinned: runs that the user keeps for comparison, drawn in the same picture.
        stopped: whether the run was stopped before its end.
        guesses: the x from which the user expects a learner's loss to stay below 0.1, by learner name; None
            means never.
        ghost: the previous run, whose curves are drawn faint, or None.
        stored: the stored curves of the preset, drawn faint until the run ends; exported files omit them.
        moved: whether the user has moved the playhead.
        is_complete: whether all sweep points are computed.
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
        return all(
            getattr(self, field_name) == getattr(other, field_name) for field_name in self.__struct_fields__
        )

    @cached_property
    def beneath(self) -> Look | None:
        """The second picture, drawn beneath this one with the same playhead; None if there is none."""
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
        x_log, y_log, multiples = self.options.x_log, self.options.y_log, self.options.multiples
        owners = [curve.learner for curve in self.view.curves if not curve.training.is_reference]
        are_too_many = len(owners) > MOST_TOGETHER and len(set(owners)) > 1
        return replace(
            self.options,
            x_log=self.view.axes.x_log if x_log is None else x_log,
            y_log=self.view.axes.y_log if y_log is None else y_log,
            multiples=are_too_many if multiples is None else multiples,
        )

    @cached_property
    def known_places(self) -> np.ndarray:
        return known_places(self.view)

    @cached_property
    def x(self) -> float | None:
        """The x of the playhead, or of the cursor if x is a sweep axis; None if the picture has no values."""
        if along_records(self.view):
            return self.view.x_of(self.point, min(self.place, self.shown))
        places = self.known_places
        if not len(places):
            return None
        if self.is_complete and self.cursor is None:
            return self._most_common_x
        newest = self.point if self.newest is None else self.newest
        wanted = self.view.x_of(newest, self.shown) if self.cursor is None else self.cursor
        return float(places[-1]) if wanted is None else self.nearest(wanted)

    @property
    def _most_common_x(self) -> float:
        """Largest x at which the maximum number of curves have values."""
        places = self.known_places
        places_by_curve = [curve.x[~np.isnan(curve.y)] for curve in self.view.curves] or [places]
        curve_counts = np.sum([np.isin(places, x) for x in places_by_curve], 0)
        return float(places[curve_counts == curve_counts.max()][-1])

    @cached_property
    def shown_at(self) -> float | None:
        """The x at which tables read the values of curves, usually at the playhead or cursor.

        If the bounds fall to about 0 during a run, the last losses do not tell learners apart. Tables of such
        a run show the last x at which the bounds are at least half as high as at the start. Once the user
        moves the playhead, tables follow the playhead.
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
        """Whether tables of a finished run show earlier values, because the final bounds are about 0."""
        return self.at_end and self.shown_at != self.x

    @cached_property
    def rounding(self) -> float:
        """Largest absolute value that counts as 0.

        On a log axis, `rounded_off` computes this value from the curves. On a linear axis, it is the rounding
        error of the measure. On both, it is at least `negligible(view)`.
        """
        view = self.view
        if not self.resolved.y_log:
            return max(view.quantity.rounding, negligible(view))
        rounded = rounded_off(
            [curve.y[np.isfinite(curve.y)] for curve in view.curves], view.quantity.rounding
        )
        return max(rounded, negligible(view))

    @property
    def shown_at_in_words(self) -> str:
        """Text with the x at which values are read, such as "k = 64".

        It is empty if the progress display already shows this x, except after a sweep in which other curves
        have later values.
        """
        if self.shown_at is None:
            return ""
        if along_records(self.view) and self.shown_at == self.x and not self._has_later_values(self.shown_at):
            return ""
        words = f"{x_name(self.view)} = {self.view.axes.names.get(self.shown_at) or number(self.shown_at)}"
        return words if self.y is None else f"{words}, {y_name(self.view)} = {number(self.y)}"

    def _has_later_values(self, x: float) -> bool:
        """Return whether a curve of a complete sweep goes on beyond `x`, the end of the played run."""
        is_at_end = self.is_complete and not self.moved and self.place >= self.shown
        end = x + ROUNDING * abs(x)
        curves = self.view.curves if is_at_end else ()
        return any(bool((curve.x[np.isfinite(curve.y)] > end).any()) for curve in curves)

    def nearest(self, x: float) -> float:
        """Return the x nearest to `x` at which the picture has values.

        On a log axis, it is the x with the nearest logarithm.
        """
        places = self.known_places
        by_factors = bool(self.resolved.x_log) and x > 0 and bool((places > 0).all())
        return nearest(places, x, by_factors)

    def clock_at(self, x: float) -> float | None:
        """Convert an x of the picture to the clock of the played run, such as the number of examples.

        The result is the clock at the evaluation point with the nearest x, or None if there is no evaluation
        point yet.
        """
        played = [curve for curve in self.view.curves if self.is_played(curve) and len(curve.x)]
        if not played:
            return None
        longest = max(played, key=lambda curve: len(curve.x))
        assert longest.places.clock is not None, "a curve that is played has a clock"
        return float(longest.places.clock[np.abs(longest.x - x).argmin()])

    @cached_property
    def y(self) -> float | None:
        """The y of the row that the user selected in a heat map, or of the newest row.

        None if there is no heat map.
        """
        rows = np.unique(np.concatenate([*(heat.y for heat in self.view.heats), np.empty(0)]))
        newest = self.point if self.newest is None else self.newest
        wanted = self.view.y_of(newest) if self.height is None else self.height
        return None if wanted is None or not len(rows) else nearest(rows, wanted, False)

    @cached_property
    def at_end(self) -> bool:
        """Whether the playhead is at the planned end of the run that is played back."""
        return self.x is not None and self.x == self.view.x_of(self.point, np.inf)

    @property
    def playhead(self) -> float | None:
        """The x of the vertical line in a chart; None if the line would be at the end of the shown data."""
        if along_records(self.view):
            return self.x if self.place < self.shown else None
        places = self.known_places
        return self.x if len(places) > 1 and self.x != places[-1] else None

    def is_played(self, curve: CurveView) -> bool:
        return curve.places.clock is not None and curve.training.point == self.point

    def length(self, curve: CurveView) -> int:
        """Return the number of points of a curve that the chart shows."""
        return _count_up_to(curve.places.clock, self.shown) if self.is_played(curve) else len(curve.x)

    def past(self, curve: CurveView) -> int:
        """Return the number of points of a curve from its start up to the playhead."""
        if self.is_played(curve):
            return _count_up_to(curve.places.clock, min(self.place, self.shown))
        if curve.places.clock is None or self.place >= self.shown or self.x is None or not increases(curve):
            return len(curve.x)
        return _count_up_to(curve.x, self.x)

    def number_at(self, curve: CurveView, pinned: bool = False) -> int | None:
        """Return the index of the curve point that is shown in tables of values, or None if there is none."""
        if self.is_played(curve) and not pinned and self.shown_at == self.x:
            return self.past(curve) - 1 if self.past(curve) else None
        if self.shown_at is None or not len(curve.x):
            return None
        if curve.places.clock is None:
            return index_at(curve, self.shown_at)
        if not increases(curve):
            return int(np.abs(curve.x - self.shown_at).argmin())
        reached = _count_up_to(curve.x, self.shown_at)
        return reached - 1 if reached else None


def nearest(places: np.ndarray, x: float, by_factors: bool) -> float:
    far = np.abs(np.log(places / x)) if by_factors else np.abs(places - x)
    return float(places[far.argmin()])


def _count_up_to(places: np.ndarray | None, x: float) -> int:
    assert places is not None, "a curve that is played has a clock"
    return int(np.searchsorted(places, x, side="right"))
