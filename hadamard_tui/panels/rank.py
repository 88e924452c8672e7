"""The numerical rank of every learner's weight matrix across targets, against k, 2k + 1 and 2^k."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.text import Text

from engine.measures.rank import Rank
from hadamard_tui.charts.series import Series
from hadamard_tui.charts.series_builder import Plot, colour, mark, theory
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel, nothing, plot
from hadamard_tui.panels.spectrum import why_none

GROWTH: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "k": lambda k: k,
    "2k + 1": lambda k: 2 * k + 1,
    "2^k": lambda k: np.exp2(np.minimum(k, 64.0)),
}
"""How fast theory lets a rank grow: of GD from 0, of two fully connected linear layers, at most of others."""


def show(context: PanelContext) -> Plot | Text:
    """The ranks up to what is shown, under the greatest rank that there can be.

    The names tell those at the playhead, where there is one.
    """
    series, greatest = [], 0
    for number, curve in context.numbered:
        if curve.spectrum is None:
            continue
        x, rank = curve.spectrum.x, curve.spectrum.rank.astype(float)
        count = int(np.searchsorted(x, context.shown, side="right"))
        greatest = max(greatest, curve.spectrum.values.shape[1])
        name = curve.name
        if (now := context.marked(x)) is not None:
            name += f": {rank[now]:g}"
        series.append(Series(name, x[:count], rank[:count], colour(number), mark=mark(number)))
    if not series:
        return nothing(why_none(context))
    for name, growth in GROWTH.items():
        height = growth(context.trace.planned["k"])
        reached = np.minimum(height, greatest)
        inside = np.searchsorted(height, greatest, side="left") + 1
        series.append(Series(name, context.trace.x[:inside], reached[:inside], theory(), style="dashed"))
    return plot(context, "Rank of the weights across targets", Rank.label, series)


PANEL = Panel(
    "rank", "the rank of every learner's weights across targets against k, 2k + 1 and 2^k", show, place=30
)
