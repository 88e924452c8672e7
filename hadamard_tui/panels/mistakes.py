"""Panel: 0/1 error of each learner, which is the share of rows that it misclassifies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from hadamard_tui.charts.plots.series_builder import Plot, smoothing
from hadamard_tui.panels.panel import Lack, Panel, measured, nothing, plot

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext


def lacks(experiment: Experiment) -> Lack | None:
    if experiment.problem.label_values != "any":
        return None
    return Lack("Labels are not two classes (+1 and −1, or 0 and 1), so there is no 0/1 error.")


def show(context: PanelContext) -> Plot | Text:
    from engine.measures.error import Error

    series = measured(context, "error")
    if not series:
        return nothing("No learner has begun yet.")
    title = "0/1 error: share of rows that are misclassified"
    return plot(context, title, Error.label, series, smoothed=smoothing(context.loss))


PANEL = Panel("error", "0/1 error: the share of rows that are misclassified", show, place=90, lacks=lacks)
