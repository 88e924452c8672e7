"""Parts that a chart leaves out: points without a place on its axes, curves beyond it, lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hadamard_tui.charts.patterns import is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.layers import Hidden
    from hadamard_tui.charts.series import Axes, Series


def left_out(series: Sequence[Series], shown: np.ndarray) -> frozenset[int]:
    """Return the positions of lines beside the curves that are nowhere on the chart; no legend names them.

    Args:
        shown: where on the chart each series is, bool [series, columns].
    """
    return frozenset(
        at for at, line in enumerate(series) if is_line(line) and len(line.x) and not shown[at].any()
    )


def beyond(curve: Series, axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    """Return where a series is above the chart, and where below it, both of the shape of x.

    On a linear axis nothing counts as below: only rounding leaves the axis at its foot.
    """
    low, high = axes.y_limits
    inside = (curve.x >= axes.x_limits[0]) & (curve.x <= axes.x_limits[1]) & np.isfinite(curve.y)
    below = (curve.y > axes.y_rounding) & (curve.y < low) if axes.y_log else np.zeros_like(inside)
    return inside & (curve.y > high), inside & below


def remark(series: Sequence[Series], axes: Axes, hidden: Hidden) -> str:
    """Return a remark on curves and lines that leave the chart, and on points that no limits could show."""
    above: dict[str, None] = {}
    below: dict[str, None] = {}
    for curve in series:
        called = curve.mark or (curve.name.partition(", ")[0] if is_line(curve) else "")
        for names, is_beyond in zip((above, below), beyond(curve, axes), strict=True):
            if called and is_beyond.any():
                names[called] = None
    sides = [("above", above), ("below", below)]
    remarks = [f"{side} the chart: {', '.join(called)}" for side, called in sides if called]
    points = hidden.values + hidden.places * (not axes.x_log)
    if hidden.places and axes.x_log:
        remarks.append(f"no place for {axes.x_label} ≤ 0")
    for count, why in ((points, "≤ 0 or ∞"), (hidden.rounding, "0 up to rounding")):
        if count:
            remarks.append(f"{count} point{'s' * (count > 1)} not drawn ({why})")
    return " · ".join(remarks)
