"""Limits of a y-axis: they hold what is seen, and stay still while a run goes on as far as they can."""

from __future__ import annotations

import math

import numpy as np

from hadamard_tui.charts.chart_options import DECADES, WHOLE_DECADES, ChartOptions, why_not_log
from hadamard_tui.charts.series import Limits, limits

STEPS = 8
"""Limits that stay still move by so many steps of what they span, or by a few more."""


def y_limits(values: np.ndarray, options: ChartOptions, own_log: bool) -> tuple[Limits | None, str]:
    """Logarithmic limits, None for linear ones; and why these are linear although a person asks for others.

    Args:
        values: what is to be seen, finite.
        own_log: whether the axis is logarithmic where a person has not chosen.
    """
    refused = why_not_log("y", values) if options.y_log and len(values) else ""
    wanted = own_log if options.y_log is None else options.y_log
    if not wanted or refused or not (values > 0).any():
        return None, refused
    return log_limits(values, DECADES if options.y_log else WHOLE_DECADES), ""


def log_limits(values: np.ndarray, decades: float) -> Limits:
    """Limits of a logarithmic axis that holds what is above 0, at most so many decades of it."""
    top = float(values.max())
    bottom = max(float(values[values > 0].min()), top * 10.0**-decades)
    room = (top / bottom) ** 0.03 if top > bottom else 2.0
    return bottom / room, top * room


def risk_limits(starts: list[float], highest: list[float]) -> Limits:
    """From 0 to a little above the highest start; a curve that leaves them is cut at the border."""
    top = min(max(highest), 2 * max(starts))
    step = max(starts) / 4 or 0.25
    return 0.0, max(step, np.ceil(top / step - 1e-6) * step) * 1.04


def still_limits(values: np.ndarray) -> Limits:
    """Limits that hold some values of a run that may go on, and move in steps only."""
    low, high = limits(values)
    step = 2.0 ** math.ceil(math.log2(high - low)) / STEPS
    return math.floor(low / step) * step, math.ceil(high / step) * step
