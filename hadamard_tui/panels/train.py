"""The loss over the examples seen, of every learner, and of the one selected that over the rows unseen."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text

from hadamard_tui.charts.series_builder import Plot, tallest
from hadamard_tui.panels.context import Sight
from hadamard_tui.panels.panel import Panel, measured, nothing, plot


def show(sight: Sight) -> Plot | Text:
    """Train loss of all learners up to what is shown."""
    if not sight.experiment.run.train_loss:
        off = "The run does not record the train loss: set train loss to yes in the set-up, and run again."
        return nothing(off)
    series = measured(sight, "train")
    if not series:
        return nothing("No learner has begun yet.")
    if (unseen := sight.curve.mean("unseen")) is not None:
        number = sight.trace.curves.index(sight.curve)
        name = f"{sight.curve.name} on unseen rows"
        series += [
            replace(one, name=name if one.name else "", style="dash-dot", mark=None)
            for one in sight.pen.draw(number, sight.curve, "unseen", unseen)
        ]
    return plot(sight, "Loss over the examples seen", "train loss", series, most=tallest(sight.trace))


PANEL = Panel(
    "train",
    "the loss over the examples seen, and of the learner selected that over rows unseen",
    show,
    place=60,
)
