"""The loss over the examples seen, of every learner, and of the one selected that over the rows unseen."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from hadamard_tui.charts.series import Series
from hadamard_tui.drawing import Plot, colour
from hadamard_tui.panels.panel import Panel, nothing, plot
from hadamard_tui.sight import Sight


def show(sight: Sight) -> Plot | Text:
    """Train loss of all learners up to what is shown."""
    if not sight.experiment.run.train_loss:
        off = "The run does not record the train loss: set train loss to yes in the set-up, and run again."
        return nothing(off)
    series = [
        one
        for number, curve in enumerate(sight.trace.curves)
        if curve.train is not None
        for one in sight.pen.draw(number, curve, "train", curve.train)
    ]
    if not series:
        return nothing("No learner has begun yet.")
    unseen = sight.curve.unseen
    if unseen is not None:
        count = int(np.searchsorted(sight.curve.x, sight.shown, side="right"))
        tint = colour(sight.trace.curves.index(sight.curve))
        name = f"{sight.curve.name} on unseen rows"
        series.append(Series(name, sight.curve.x[:count], unseen[:count], tint, style="dash-dot"))
    return plot(sight, "Loss over the examples seen", "train loss", series)


PANEL = Panel(
    "train", "the loss over the examples seen, and of the learner selected that over rows unseen", show
)
