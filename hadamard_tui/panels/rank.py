"""Panel: numerical rank of each learner's weight matrix across targets, and its theoretical maximum."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text

from hadamard_tui.charts.plots import view_plot
from hadamard_tui.panels.panel import Panel, nothing, record_at_playhead
from hadamard_tui.panels.spectrum import lacks, no_spectrum

if TYPE_CHECKING:
    from hadamard_tui.charts.plots.series_builder import Plot
    from hadamard_tui.panels.panel import PanelContext


def show(context: PanelContext) -> Plot | Text:
    look = context.look("rank", "Rank of the weights across targets")
    if not any(len(curve.x) for curve in look.view.curves):
        return nothing(no_spectrum(context.curve))
    names = {
        curve.name: f"{curve.name}: {curve.y[now]:g}"
        for curve in look.view.curves
        if (now := record_at_playhead(context, curve.x)) is not None
    }
    drawn = view_plot.plot(look)
    return drawn._replace(
        series=[replace(curve, name=names.get(curve.name, curve.name)) for curve in drawn.series]
    )


PANEL = Panel(
    "rank",
    "for each learner, the rank of the matrix of all targets' weights, and the largest possible rank",
    show,
    place=70,
    lacks=partial(lacks, measure="rank"),
)
