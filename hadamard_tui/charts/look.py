"""A person's look at a picture: how far it is shown, and the place of the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from engine.core.expressions import number
from engine.pictures.bounds import bound_heights
from engine.pictures.view import along_records, increases, negligible
from engine.pictures.wording import x_name, y_name
from hadamard_tui.charts.chart_options import ChartOptions
from hadamard_tui.charts.y_limits import rounded_off

if TYPE_CHECKING:
    from engine.pictures.view import CurveView, View
    from hadamard_tui.charts.series import Series

SMALL, HALF = 0.01, 0.5
"""Bounds that end below this share of their start separate learners no more; numbers are shown at HALF."""

STORED = "stored"
"""What charts call stored curves and pictures."""


class Pinned(NamedTuple):
    """Another run in a picture: a pinned one, or the run before."""

    name: str
    """Value that the run on the screen does not have, "d = 128", or the name of the run."""

    view: View
    change: str = ""
    """Differences from this run to the run on the screen, "d 128 → 256"; empty if there are none."""


class Look(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """A view, and what of it is looked at.

    Args:
        point: the number of the point whose run is played.
        newest: that of the last point that was computed; None while there is none.
        shown: how far that run is shown, on its clock; all of it by default.
        place: where the playhead stands on that clock, at most `shown`.
        cursor: the place on x, where that goes along no run, that a person has chosen.
        height: on the y of a heat map, the row that a person has chosen.
        pinned: other runs in the same picture.
        stopped: whether the run was, before its end.
        guesses: where learners were guessed to come below a tenth, None for never, by name.
        ghost: the same picture of the run before, which stays faint behind it.
        stored: the stored curves of the preset, faint too, until the run is over; in no file.
        moved: whether a person has put the playhead somewhere.
        whole: whether all points of the axes are computed.
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
    whole: bool = False

    def is_as(self, other: Look) -> bool:
        """Whether another look shows the same, so that everything computed from it can be reused."""
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__)

    @cached_property
    def resolved(self) -> ChartOptions:
        """Chart options, with those of the picture where a person has chosen none."""
        x_log, y_log = self.options.x_log, self.options.y_log
        return replace(
            self.options,
            x_log=self.view.axes.x_log if x_log is None else x_log,
            y_log=self.view.axes.y_log if y_log is None else y_log,
        )

    @cached_property
    def x(self) -> float | None:
        """Place on the x-axis that a person looks at; None if there is nothing yet."""
        if along_records(self.view):
            return self.view.x_of(self.point, min(self.place, self.shown))
        places = self.view.known_places
        if not len(places):
            return None
        if self.whole and self.cursor is None:
            return self._common
        newest = self.point if self.newest is None else self.newest
        wanted = self.view.x_of(newest, self.shown) if self.cursor is None else self.cursor
        return float(places[-1]) if wanted is None else self.nearest(wanted)

    @property
    def _common(self) -> float:
        """Last of the places where most curves have values."""
        places = self.view.known_places
        places_by_curve = [curve.x[~np.isnan(curve.y)] for curve in self.view.curves] or [places]
        curve_counts = np.sum([np.isin(places, x) for x in places_by_curve], 0)
        return float(places[curve_counts == curve_counts.max()][-1])

    @cached_property
    def shown_at(self) -> float | None:
        """Place on the x-axis of the numbers: usually where a person looks.

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
        """Whether the run is over with bounds near 0, so that numbers are shown before its end."""
        return self.at_end and self.shown_at != self.x

    @cached_property
    def rounding(self) -> float:
        """Size up to which a value counts as 0; on a log axis only below a gap between values."""
        view = self.view
        if not self.resolved.y_log:
            return max(view.quantity.rounding, negligible(view))
        rounded = rounded_off(
            [curve.y[np.isfinite(curve.y)] for curve in view.curves], view.quantity.rounding
        )
        return max(rounded, negligible(view))

    @property
    def shown_at_in_words(self) -> str:
        """Place of the numbers, as in "k = 64"; empty if the clock of the run states it."""
        if self.shown_at is None or (along_records(self.view) and self.shown_at == self.x):
            return ""
        words = f"{x_name(self.view)} = {self.view.axes.names.get(self.shown_at) or number(self.shown_at)}"
        return words if self.y is None else f"{words}, {y_name(self.view)} = {number(self.y)}"

    def nearest(self, x: float) -> float:
        """Return the place nearest to x, by factors on a logarithmic axis."""
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
        """Row of a heat map that a person looks at."""
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
        """Place to mark; None at the end of what is shown."""
        if along_records(self.view):
            return self.x if self.place < self.shown else None
        places = self.view.known_places
        return self.x if len(places) > 1 and self.x != places[-1] else None

    def is_played(self, curve: CurveView) -> bool:
        """Whether a curve belongs to the played run."""
        return curve.places.clock is not None and curve.training.point == self.point

    def length(self, curve: CurveView) -> int:
        """Return how many places of a curve are shown."""
        return _until(curve.places.clock, self.shown) if self.is_played(curve) else len(curve.x)

    def past(self, curve: CurveView) -> int:
        """Return how many places of a curve are not beyond the playhead."""
        if self.is_played(curve):
            return _until(curve.places.clock, min(self.place, self.shown))
        if curve.places.clock is None or self.place >= self.shown or self.x is None or not increases(curve):
            return len(curve.x)
        return _until(curve.x, self.x)

    def number_at(self, curve: CurveView, pinned: bool = False) -> int | None:
        """Return the position in a curve of the numbers; None if it has no value there."""
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
    """Return how many of increasing places are not beyond x."""
    assert places is not None, "a curve that is played has a clock"
    return int(np.searchsorted(places, x, side="right"))
