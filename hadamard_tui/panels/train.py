"""Panel: loss of each learner on the examples seen, and of the selected learner on unseen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text

from hadamard_tui.charts.plots.series_builder import Pen, Plot, smoothing
from hadamard_tui.charts.plots.view_axes import twice_the_start
from hadamard_tui.panels.panel import Lack, Panel, measured, nothing, plot, recording

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import PanelContext


def lacks(experiment: Experiment) -> Lack | None:
    from engine.measures import named
    from engine.planning.run_plan import is_recorded

    if is_recorded("train", experiment):
        return None
    record = recording(experiment, "records the train loss", named()["train"], named()["unseen"])
    return Lack("The run does not record the train loss.", record)


def show(context: PanelContext) -> Plot | Text:
    series = measured(context, "train")
    if not series:
        return nothing("No learner has begun yet.")
    unseen = context.look("unseen")
    curve_name = f"{context.curve.name} on unseen rows"
    series += [
        replace(segment, name=curve_name if segment.name else "", style="dash-dot", mark=None)
        for curve in unseen.view.curves
        if curve.name == context.curve.name
        for segment in Pen(unseen).draw(curve)
    ]
    highest = twice_the_start(context.loss.view)
    title, smoothed = "Mean loss on the examples seen so far", smoothing(context.loss)
    return plot(context, title, "train loss", series, highest=highest, smoothed=smoothed)


PANEL = Panel(
    "train",
    "the loss on the examples seen, and the loss of the selected learner on unseen rows",
    show,
    place=100,
    lacks=lacks,
)
