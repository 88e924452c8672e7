"""How far every learner is above or below the bound that it is compared with."""

from __future__ import annotations

from functools import partial

import numpy as np
from rich.text import Text

from hadamard_tui.charts.series import Series
from hadamard_tui.charts.series_builder import Pen, Plot, theory
from hadamard_tui.charts.view_plot import twice_the_start
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel, nothing, plot


def show(context: PanelContext) -> Plot | Text:
    """Loss minus the strongest bound, for all learners; 0 is the bound."""
    trace, look = context.trace, context.loss
    view = look.view
    if not any(view.compared(curve) for curve in view.curves):
        reasons = "".join(f"\n{bound.kind}: {bound.on_problem.reason}." for bound in trace.bounds)
        return nothing(f"No lower bound speaks of this problem, so there is no gap to show.\n{reasons}")
    series = [one for curve in view.curves for one in Pen(look).draw(curve, partial(view.heights, curve))]
    ends = np.array(context.chart_options.window or (trace.x[0], trace.x[-1]))
    zero = Series("the bound", ends, np.zeros(2), theory(), style="dashed")
    return plot(context, "Gap: loss − bound", "gap", [*series, zero], most=twice_the_start(view))


PANEL = Panel("gap", "how far every learner is above or below its bound: loss − bound", show, place=40)
