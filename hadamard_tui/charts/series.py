"""Content of a chart: named series on a pair of axes, and the dashes of their lines."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np

from engine.core.expressions import briefer

LineStyle = Literal["solid", "dashed", "dotted", "dash-dot", "sparse", "long", "pairs", "points"]
Limits = tuple[float, float]

BOUND_STYLE: LineStyle = "long"
"""Line style of references, and of learners to which a proved lower bound applies; others are solid."""

FEW = 8
"""Number of visible points up to which a curve has its letter at each point."""

# Beyond this value, the padded range of the data would overflow float64; such points are clipped.
_LARGEST = 8e307
# Data whose range is narrower than this, relative to the values, count as constant: they differ by rounding.
_NOISE = 1e-12
# In wider ranges, ticks are more than 1 apart, so that whole numbers need no special treatment.
_MANY = 64


class Series(msgspec.Struct, frozen=True, eq=False):
    """Curve that is drawn in the order of x, or separate points if its style is "points".

    Args:
        name: entry in the legend; a series without a name is drawn but not listed.
        formula: formula shown after the name in the legend, if it fits.
        x, y: points, both of shape [n]; NaN in y makes a gap.
        colour: any rich or Textual colour, "#e69f00" or "bright_blue".
        band: lower and upper border of a shaded region, both of shape [n].
        mark: one letter at the last visible point, so that curves differ without colour.
        faint: whether the series is dimmed, because it is only context.
        is_region: whether the series is a theory region: only its band is drawn, more lightly than an error
            band.
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
        """Name in the picture: the formula if it is shorter than the name."""
        return briefer(self.name, self.formula)

    def __post_init__(self) -> None:
        for part in (self.y, *(self.band or ())):
            if np.ndim(self.x) != 1 or np.shape(part) != np.shape(self.x):
                raise ValueError(
                    f"series {self.name!r}: x, y and band must be 1-d and of equal length, "
                    f"got shapes {np.shape(self.x)} and {np.shape(part)}"
                )


class Axes(msgspec.Struct, frozen=True):
    """Labels, limits in data units, and scales of both axes. Hashable, because frames are cached by axes."""

    title: str
    x_label: str
    y_label: str
    x_limits: Limits
    y_limits: Limits
    x_log: bool = False
    y_log: bool = False
    x_whole: bool = False
    """Whether x has whole numbers only."""

    y_down: bool = False
    """Whether y increases downwards, like the row numbers of a matrix."""

    y_names: tuple[str, ...] = ()
    """Names at y = 0, 1, 2, … in place of numbers; empty if ticks have numbers."""

    x_names: tuple[tuple[float, str], ...] = ()
    """Named x values as pairs of x and name, increasing; empty if ticks have numbers."""

    x_falls: bool = False
    """Whether x falls with time, so that the axis runs from right to left."""

    y_whole: bool = False
    """Whether y has whole numbers only."""

    y_rounding: float = 0.0
    """Absolute value up to which y counts as 0, because it may be a rounding error.

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
    """Return whether all values are whole numbers, in a range so small that ticks might fall between them."""
    few = len(values) > 0 and values[-1] - values[0] < _MANY
    return few and bool((values == np.rint(values)).all())


def limits(values: np.ndarray) -> Limits:
    """Return the range of finite values, widened on both sides by a twentieth of its length.

    The padding never crosses zero, so that a loss axis starts at 0. Equal values get a margin around them,
    and no values give (0, 1).
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


# Dashes of each line style: whether a dot column is visible, by the column modulo the length of the pattern.
# The patterns are fixed to the screen, so that dashes do not move while data grow.
PATTERNS: dict[LineStyle, tuple[bool, ...]] = {
    "dashed": (True, True, True, True, False, False),
    "dotted": (True, False, False, False),
    "dash-dot": (True,) * 6 + (False, False, True, False, False),
    "sparse": (True, True, False, False, False, False, False, False),
    "long": (True,) * 12 + (False,) * 4,
    "pairs": (True, False, True, False, False, False, False, False),
}


def is_line(series: Series) -> bool:
    """Return whether a series is an unmarked line beside the curves, such as a theory line."""
    return not (series.mark or series.faint or series.is_region) and series.style in PATTERNS
