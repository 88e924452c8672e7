"""Options of charts: logarithmic axes, zoom, smoothing and bands. They outlive runs and refreshes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from hadamard_tui.charts.series import Limits

Axis = Literal["x", "y"]

Ruler = Callable[[float], float]

NARROWEST = 4
"""Least number of records in a zoom."""

ROUNDING = 1e-9
"""Least width of a zoom, relative to its numbers; a narrower one looks like a point."""


class ChartOptions(msgspec.Struct, frozen=True):
    """What a person has chosen to see; no refresh changes it.

    Args:
        x_log, y_log: whether the axis is logarithmic; None for what the picture says.
        multiples: whether each learner has a chart of its own.
        difference: whether curves are drawn less those of the run that was pinned last.
        window: the part of the x-axis that is zoomed into; None for all of it.
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
        """Show `by` as much of the x-axis, `around` staying where it is; all of it once that is too much.

        Args:
            x: the places of what is shown, increasing.
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
        """The same, moved so far along the x-axis that `place` is in sight.

        A window into another x-axis may have no width on this one, which is then shown whole.
        """
        if self.window is None or self.window[0] <= place <= self.window[1]:
            return self
        to, back, first, last = self._ruler(x)
        width = to(self.window[1]) - to(self.window[0])
        return self._with(_within(to(place) - width / 2, width, first, last, back))

    def _with(self, window: Limits) -> ChartOptions:
        return replace(self, window=window if _is_wide(window) else None)

    def x_limits(self, x: np.ndarray) -> Limits:
        """The limits of an x-axis with records at x; a logarithmic one begins at the first above 0."""
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
    """Whether the ends of a window differ by a finite amount."""
    low, high = window
    return ROUNDING * max(abs(low), abs(high)) < high - low < math.inf


def _within(low: float, width: float, first: float, last: float, back: Ruler) -> Limits:
    low = min(max(low, first), last - width)
    return back(low), back(low + width)


def why_not_log(axis: Axis, values: np.ndarray) -> str:
    """Return why an axis over these values cannot be logarithmic; empty if it can."""
    if np.count_nonzero(values > 0) < 2:
        return f"the {axis}-axis stays linear: fewer than two of its values are above 0"
    if axis == "y" and np.nanmin(values) < 0:
        return "the y-axis stays linear: some values are below 0"
    return ""
