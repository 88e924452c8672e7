"""What a chart leaves out: points without a place on its axes, curves beyond it, lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hadamard_tui.charts.patterns import is_line

if TYPE_CHECKING:
    from hadamard_tui.charts.layers import Hidden
    from hadamard_tui.charts.series import Axes, Series


def left_out(series: Sequence[Series], shown: np.ndarray) -> frozenset[int]:
    """The positions of lines beside the curves of which nothing is on the chart: no legend names them.

    Args:
        shown: where on the chart each series is, bool [series, columns].
    """
    return frozenset(
        at for at, one in enumerate(series) if is_line(one) and len(one.x) and not shown[at].any()
    )


def remark(series: Sequence[Series], axes: Axes, hidden: Hidden) -> str:
    """What a chart says about that: which curves and lines leave it, and how many points no limits could
    show.

    A linear axis is left at the foot by rounding alone, of which nothing is said.
    """
    above: dict[str, None] = {}
    below: dict[str, None] = {}
    low, high = axes.y_limits
    for one in series:
        called = one.mark or (one.name.partition(", ")[0] if is_line(one) else "")
        y = one.y[(one.x >= axes.x_limits[0]) & (one.x <= axes.x_limits[1]) & np.isfinite(one.y)]
        if called and (y > high).any():
            above[called] = None
        if called and axes.y_log and ((y > axes.y_rounding) & (y < low)).any():
            below[called] = None
    sides = [("above", above), ("below", below)]
    said = [f"{side} the chart: {', '.join(called)}" for side, called in sides if called]
    values = hidden.values + hidden.places * (not axes.x_log)
    if hidden.places and axes.x_log:
        said.append(f"no place for {axes.x_label} ≤ 0")
    for count, why in ((values, "≤ 0 or ∞"), (hidden.rounding, "0 but for rounding")):
        if count:
            said.append(f"{count} point{'s' * (count > 1)} not drawn ({why})")
    return " · ".join(said)
