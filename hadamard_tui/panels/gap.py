"""Panel: loss of each learner minus the strongest lower bound.

The bound is the strongest bound that applies to the learner. If no bound applies, the panel compares the
learner with the strongest lower bound in the chart. The learner may fall below this bound.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from engine.core import catalogue
from engine.pictures.bounds import bound_heights
from engine.pictures.view import FROM_BELOW
from hadamard_tui.charts.plots.series_builder import Pen, Plot, smoothing, theory
from hadamard_tui.charts.plots.view_axes import twice_the_start
from hadamard_tui.charts.series import Series
from hadamard_tui.panels.panel import Lack, Panel, plot

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext


def lacks(experiment: Experiment) -> Lack | None:
    from engine.theory import on_problem

    bounds = [
        line
        for line in catalogue.defaults("theory")
        if line.measure == "loss" and line.structure().direction in FROM_BELOW
    ]
    findings = [(bound.called, on_problem(bound, experiment)) for bound in bounds]
    if any(finding.holds for _, finding in findings):
        return None
    reasons = "".join(f"\n{learner_name}: {finding.reason}." for learner_name, finding in findings)
    return Lack(f"No lower bound applies to this problem, so there is no gap to show.\n{reasons}")


def show(context: PanelContext) -> Plot | Text:
    trace, look = context.trace, context.loss
    view = look.view
    series = [
        gap for curve in view.curves for gap in Pen(look).draw(curve, partial(bound_heights, view, curve))
    ]
    ends = np.array(context.chart_options.window or (trace.x[0], trace.x[-1]))
    zero = Series("the bound", ends, np.zeros(2), theory(), style="dashed")
    highest = twice_the_start(view)
    return plot(
        context, "Gap: loss − bound", "gap", [zero, *series], highest=highest, smoothed=smoothing(look)
    )


PANEL = Panel(
    "gap",
    "how far every learner is above or below its bound: loss − bound",
    show,
    place=80,
    lacks=lacks,
)
