"""The share of rows whose sign every learner mistakes: 0/1 error."""

from __future__ import annotations

from rich.text import Text

from hadamard_tui.drawing import Plot
from hadamard_tui.panels.panel import Panel, nothing, plot
from hadamard_tui.sight import Sight


def show(sight: Sight) -> Plot | Text:
    """0/1 error of all learners up to what is shown."""
    if not any(curve.length for curve in sight.trace.curves):
        return nothing("No learner has begun yet.")
    series = [
        one
        for number, curve in enumerate(sight.trace.curves)
        if curve.error is not None
        for one in sight.pen.draw(number, curve, "error", curve.error)
    ]
    if not series:
        return nothing("Not every label is +1 or −1, so there are no signs to mistake and no 0/1 error.")
    return plot(sight, "0/1 error: share of rows whose sign is mistaken", "0/1 error", series)


PANEL = Panel("error", "0/1 error: the share of rows whose sign is mistaken", show)
