"""Limits of a y-axis: they hold the visible values, and move as little as possible while a run goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hadamard_tui.charts.chart_options import ChartOptions, why_not_log
from hadamard_tui.charts.series import Limits, limits

STEPS = 8
"""Steps per span: limits move by multiples of their span, rounded up to a power of two, over STEPS."""

DECADES = 8
"""Decades of a logarithmic axis.

An axis that a person chose reaches so far below its top. An axis of a picture holds all of its curves but
rounding, and lines at most so far below the curves.
"""

PEAK = 4
"""Multiple of the highest start up to which a risk is shown."""

GAP = 1e3
"""Factor between rounding errors and all larger values."""


def y_limits(values: np.ndarray, options: ChartOptions, own_log: bool) -> tuple[Limits | None, str]:
    """Return logarithmic limits, or None for linear ones, and why these are linear although log was chosen.

    Args:
        values: the visible values, finite.
        own_log: whether the axis is logarithmic if a person has not chosen.
    """
    refused = why_not_log("y", values) if options.y_log and len(values) else ""
    wanted = own_log if options.y_log is None else options.y_log
    if not wanted or refused or not (values > 0).any():
        return None, refused
    return log_limits(values, DECADES if options.y_log else np.inf), ""


def rounded_off(curves: Sequence[np.ndarray], rounding: float) -> float:
    """Return the largest value that stands for 0.

    A gap separates it from larger values, and no curve is all below it.

    Args:
        curves: the visible values of each curve, finite.
        rounding: size that rounding alone may give to 0, relative to the largest value.
    """
    above = [y[y > 0] for y in curves]
    values = np.sort(np.concatenate([*above, np.empty(0)]))
    tiny = (values[:-1] <= rounding * values[-1:]) & (values[1:] > GAP * values[:-1])
    least = min((float(y.max()) for y in above if len(y)), default=0.0)
    return max((value for value in values[:-1][tiny].tolist() if value < least), default=0.0)


def far_below(curves: Sequence[np.ndarray], rounding: float) -> float:
    """Return the height below which a log axis does not follow theory lines: DECADES below all curves.

    Args:
        curves: the visible values of each curve, finite.
        rounding: the largest value that stands for 0.
    """
    above = [y[y > rounding] for y in curves]
    return min((float(y.min()) for y in above if len(y)), default=0.0) * 10.0**-DECADES


def log_limits(values: np.ndarray, decades: float) -> Limits:
    """Return limits of a logarithmic axis that holds all values above 0, at most so many decades."""
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
    """Return limits of values that may grow; they move in steps."""
    low, high = limits(values)
    step = 2.0 ** math.ceil(math.log2(high - low)) / STEPS
    return math.floor(low / step) * step, math.ceil(high / step) * step
