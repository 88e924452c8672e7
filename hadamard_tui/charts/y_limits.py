"""Limits of a y-axis: they hold what is seen, and stay still while a run goes on as far as they can."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hadamard_tui.charts.chart_options import ChartOptions, why_not_log
from hadamard_tui.charts.series import Limits, limits

STEPS = 8
"""Limits that stay still move by so many steps of what they span, or by a few more."""

DECADES = 8
"""A logarithmic axis that a person chose reaches so far below its top; one that a picture has of its own
holds all of curves but rounding, and of lines no more than so far below these."""

PEAK = 4
"""Of a risk, so many times the highest start are shown at most."""

GAP = 1e3
"""So many times less than all else is what is there by rounding alone."""


def y_limits(values: np.ndarray, options: ChartOptions, own_log: bool) -> tuple[Limits | None, str]:
    """Logarithmic limits, None for linear ones; and why these are linear although a person chose others.

    Args:
        values: what is to be seen, finite.
        own_log: whether the axis is logarithmic where a person has not chosen.
    """
    refused = why_not_log("y", values) if options.y_log and len(values) else ""
    wanted = own_log if options.y_log is None else options.y_log
    if not wanted or refused or not (values > 0).any():
        return None, refused
    return log_limits(values, DECADES if options.y_log else np.inf), ""


def rounded_off(curves: Sequence[np.ndarray], rounding: float) -> float:
    """The largest value that stands for 0: a gap parts it from what is above, and no curve is all below.

    Args:
        curves: what is to be seen of each, finite.
        rounding: relative to the largest value, what arithmetic alone may make of 0.
    """
    above = [y[y > 0] for y in curves]
    values = np.sort(np.concatenate([*above, np.empty(0)]))
    tiny = (values[:-1] <= rounding * values[-1:]) & (values[1:] > GAP * values[:-1])
    least = min((float(y.max()) for y in above if len(y)), default=0.0)
    return max((value for value in values[:-1][tiny].tolist() if value < least), default=0.0)


def far_below(curves: Sequence[np.ndarray], rounding: float) -> float:
    """What a logarithmic axis does not follow lines of the theory to: DECADES below all that curves show.

    Args:
        curves: what is to be seen of each, finite.
        rounding: what stands for 0, and all below it.
    """
    above = [y[y > rounding] for y in curves]
    return min((float(y.min()) for y in above if len(y)), default=0.0) * 10.0**-DECADES


def log_limits(values: np.ndarray, decades: float) -> Limits:
    """Limits of a logarithmic axis that holds what is above 0, at most so many decades of it."""
    top = float(values.max())
    bottom = max(float(values[values > 0].min()), top * 10.0**-decades)
    room = (top / bottom) ** 0.03 if top > bottom else 2.0
    return bottom / room, top * room


def risk_limits(starts: Sequence[float], curves: Sequence[np.ndarray]) -> Limits:
    """From 0 to a little above the highest start, or above the peak of a curve that comes down again.

    A curve that ends beyond twice the highest start is diverging, and cut at the border.
    """
    start = max(starts)
    peaks = [min(float(y.max()), (PEAK if y[-1] <= 2 * start else 2) * start) for y in curves]
    step = start / 4 or 0.25
    return 0.0, max(step, np.ceil(max(peaks) / step - 1e-6) * step) * 1.04


def still_limits(values: np.ndarray) -> Limits:
    """Limits that hold some values of a run that may go on, and move in steps only."""
    low, high = limits(values)
    step = 2.0 ** math.ceil(math.log2(high - low)) / STEPS
    return math.floor(low / step) * step, math.ceil(high / step) * step
