"""Content of a chart: named series and a pair of axes, and the dash patterns of lines."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np

from engine.core.expressions import briefer

LineStyle = Literal["solid", "dashed", "dotted", "dash-dot", "sparse", "long", "pairs", "points"]
Limits = tuple[float, float]

BOUND_STYLE: LineStyle = "long"
"""Line style of reference learners, and of learners to which a proved lower bound applies.

The curves of all other learners are solid.
"""

FEW = 8
"""Largest number of visible points for which a curve shows its letter at every point."""

# Points beyond this value are clipped, because the padded range of the data would overflow float64.
_LARGEST = 8e307
# If the range of the data is narrower than this, relative to the values, it comes from rounding errors. The
# data then count as constant.
_NOISE = 1e-12
# In wider ranges, ticks are more than 1 apart, so that they need not be moved to whole numbers.
_MANY = 64


class Series(msgspec.Struct, frozen=True, eq=False):
    """Curve whose points are joined in the order of x, or separate points if its style is "points".

    Args:
        name: name in the legend; a series with an empty name is drawn but not in the legend.
        formula: formula shown after the name in the legend, if it fits.
        x, y: points, both of shape [n]; NaN in y makes a gap.
        colour: any colour of rich or Textual, such as "#e69f00" or "bright_blue".
        band: lower and upper border of a shaded region, both of shape [n].
        mark: one letter, drawn at the last visible point, which distinguishes curves without colour.
        faint: whether the series is dimmed, because it is not the subject of the chart.
        is_region: whether the series is a region that a theory line excludes. Only its band is drawn, more
            lightly than an error band.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    style: LineStyle = "solid"
    band: tuple[np.ndarray, np.ndarray] | None = None
    mark: str | None = None
    faint: bool = False
    formula: str = ""
    is_region: bool = False

    @property
    def brief(self) -> str:
        return briefer(self.name, self.formula)

    def __post_init__(self) -> None:
        for part in (self.y, *(self.band or ())):
            if np.ndim(self.x) != 1 or np.shape(part) != np.shape(self.x):
                raise ValueError(
                    f"series {self.name!r}: x, y and band must be 1-d and of equal length, "
                    f"got shapes {np.shape(self.x)} and {np.shape(part)}"
                )


class Axes(msgspec.Struct, frozen=True):
    """Labels, limits in data units, and scales of both axes.

    Axes are hashable, because they are a key in the cache of drawn frames.
    """

    title: str
    x_label: str
    y_label: str
    x_limits: Limits
    y_limits: Limits
    x_log: bool = False
    y_log: bool = False
    x_whole: bool = False
    """Whether all x are whole numbers."""

    y_down: bool = False
    """Whether y increases downwards, like the row numbers of a matrix."""

    y_names: tuple[str, ...] = ()
    """Names of y = 0, 1, 2, … that replace numbers at the ticks; empty if ticks show numbers."""

    x_names: tuple[tuple[float, str], ...] = ()
    """Pairs of an x value and the name that replaces the number at its tick, by increasing x.

    Empty if ticks show numbers.
    """

    x_falls: bool = False
    """Whether x decreases during a run, so that larger x are at the left."""

    y_whole: bool = False
    """Whether all y are whole numbers."""

    y_rounding: float = 0.0
    """Largest absolute value of y that counts as 0, because it may be a rounding error.

    A logarithmic axis does not show such values.
    """

    def __post_init__(self) -> None:
        for axis_name, (low, high), log in (
            ("x", self.x_limits, self.x_log),
            ("y", self.y_limits, self.y_log),
        ):
            if not (low < high and math.isfinite(high - low)):
                raise ValueError(f"{axis_name}_limits must be finite and increasing, got ({low}, {high})")
            if log and low <= 0:
                raise ValueError(f"{axis_name}_limits must be positive on a log axis, got ({low}, {high})")


def are_whole(values: np.ndarray) -> bool:
    """Return whether all of the increasing values are whole numbers, in a range shorter than _MANY.

    In such a range, ticks at round numbers such as 2.5 would be misleading.
    """
    few = len(values) > 0 and values[-1] - values[0] < _MANY
    return few and bool((values == np.rint(values)).all())


def limits(values: np.ndarray) -> Limits:
    """Return the range of finite values, widened on both sides by a twentieth of its length.

    The padding never crosses zero: if all values are at least 0, the lower limit is at least 0. If all values
    equal v ≠ 0, the range is v ± |v|/2. If all values are 0, or if there are none, it is (0, 1).
    """
    if not values.size:
        return 0.0, 1.0
    low, high = max(float(values.min()), -_LARGEST), min(float(values.max()), _LARGEST)
    if high - low <= _NOISE * max(abs(low), abs(high)):
        room = abs(low) / 2 or 1.0
        return (low - room if low else 0.0, high + room)
    room = (high - low) / 20
    return (
        max(low - room, 0.0) if low >= 0 else low - room,
        min(high + room, 0.0) if high <= 0 else high + room,
    )


# Dash pattern of each line style. The entry at the dot column, modulo the length of the pattern, says whether
# the line is visible there. Patterns are fixed to the screen, so that dashes do not move when data are added.
PATTERNS: dict[LineStyle, tuple[bool, ...]] = {
    "dashed": (True, True, True, True, False, False),
    "dotted": (True, False, False, False),
    "dash-dot": (True,) * 6 + (False, False, True, False, False),
    "sparse": (True, True, False, False, False, False, False, False),
    "long": (True,) * 12 + (False,) * 4,
    "pairs": (True, False, True, False, False, False, False, False),
}


def is_line(series: Series) -> bool:
    """Return whether a series is a dashed line without a letter, such as a theory line.

    Any style of PATTERNS counts as dashed. Faint series and regions do not count as lines.
    """
    return not (series.mark or series.faint or series.is_region) and series.style in PATTERNS
