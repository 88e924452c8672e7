"""What a chart leaves out: points without a place on its axes, curves above its top, lines elsewhere."""

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
    """What a chart says about that: how many points no limits could show, and which curves leave its top."""
    above = dict.fromkeys(one.mark for one in series if one.mark and _is_above(one, axes))
    points = f"{hidden} point{'s' * (hidden > 1)} not drawn (≤ 0 or ∞)" if hidden else ""
    off = f"above the chart: {', '.join(above)}" if above else ""
    return " · ".join(filter(None, (off, points)))


def _is_above(one: Series, axes: Axes) -> bool:
    """Whether a curve leaves the chart at the top."""
    low, high = axes.x_limits
    there = (one.x >= low) & (one.x <= high) & np.isfinite(one.y)
    return bool((one.y[there] > axes.y_limits[1]).any())
