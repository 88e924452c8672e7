"""What a chart leaves out: points without a place on its axes, curves beyond it, lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hadamard_tui.charts.patterns import is_line
from hadamard_tui.charts.series import Axes, Series


def left_out(series: Sequence[Series], shown: np.ndarray) -> frozenset[int]:
    """The positions of lines beside the curves of which nothing is on the chart: no legend names them.

    Args:
        shown: where on the chart each series is, bool [series, columns].
    """
    return frozenset(
        at for at, one in enumerate(series) if is_line(one) and len(one.x) and not shown[at].any()
    )


def remark(series: Sequence[Series], axes: Axes, hidden: int) -> str:
    """What a chart says about that: which curves leave it, and how many points no limits could show.

    A linear axis is left at the foot by rounding alone, of which nothing is said.
    """
    above: dict[str, None] = {}
    below: dict[str, None] = {}
    low, high = axes.y_limits
    for one in series:
        y = one.y[(one.x >= axes.x_limits[0]) & (one.x <= axes.x_limits[1]) & np.isfinite(one.y)]
        if one.mark and (y > high).any():
            above[one.mark] = None
        if one.mark and axes.y_log and ((y > 0) & (y < low)).any():
            below[one.mark] = None
    sides = [("above", above), ("below", below)]
    said = [f"{side} the chart: {', '.join(marks)}" for side, marks in sides if marks]
    if hidden:
        said.append(f"{hidden} point{'s' * (hidden > 1)} not drawn (≤ 0 or ∞)")
    return " · ".join(said)
