"""How far every learner is above or below the bound that it is compared with."""

from __future__ import annotations

from functools import partial

import numpy as np
from rich.text import Text

from hadamard_tui.charts.series import Series
from hadamard_tui.charts.series_builder import Plot, tallest, theory
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel, nothing, plot


def show(context: PanelContext) -> Plot | Text:
    """Loss minus the strongest bound, for all learners; 0 is the bound."""
    trace = context.trace
    if not any(trace.compared(curve.learner) for curve in trace.curves):
        reasons = "".join(f"\n{bound.kind}: {bound.on_problem.reason}." for bound in trace.bounds)
        return nothing(f"No lower bound speaks of this problem, so there is no gap to show.\n{reasons}")
    series = [
        one
        for number, curve in context.numbered
        for one in context.pen.draw(
            number,
            curve,
            "loss",
            curve.loss,
            partial(trace.heights, curve.learner),
            curve.stderr,
        )
    ]
    ends = np.array(context.chart_options.window or (trace.x[0], trace.x[-1]))
    zero = Series("the bound", ends, np.zeros(2), theory(), style="dashed")
    return plot(context, "Gap: loss − bound", "gap", [*series, zero], most=tallest(trace))


PANEL = Panel("gap", "how far every learner is above or below its bound: loss − bound", show, place=40)
