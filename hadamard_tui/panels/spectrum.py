"""The singular values of the selected learner's weight matrix across targets, against k."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from engine.measures.spectrum import SingularValues
from hadamard_tui.charts.series import Series
from hadamard_tui.charts.series_builder import Plot, colour, others
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel, nothing, plot

MOST_LINES = 256


def why_none(context: PanelContext) -> str:
    """Why the selected learner has no spectrum."""
    curve = context.curve
    if context.experiment.problem.target.columns(context.experiment.problem.matrix) < 2:
        return (
            "There is one target, so the weights are one vector and not a matrix. "
            "Targets such as all or doubled have a spectrum."
        )
    if not context.experiment.run.spectrum:
        where = "in the set-up, under Run, more"
        return f"The run does not record spectra: set spectrum to yes {where}, and run again."
    if curve.length and curve.weights is None:
        return f"{curve.name} is not linear in the instance, so it has no matrix of weights."
    return f"The singular values of {curve.name} are computed once it has come to its first record."


def show(context: PanelContext) -> Plot | Text:
    """Singular values up to what is shown; those that are 0 are not drawn. The greatest carries the name.

    It tells the values at the playhead, where there is one.
    """
    curve = context.curve
    if curve.spectrum is None:
        return nothing(why_none(context))
    x = curve.spectrum.x
    count = int(np.searchsorted(x, context.shown, side="right"))
    values = np.where(curve.spectrum.values[:count] > 0, curve.spectrum.values[:count], np.nan)
    r = values.shape[1]
    shown = np.unique(np.linspace(0, r - 1, min(r, MOST_LINES)).astype(int))
    number = context.number(curve)
    name = f"largest of {r} singular values"
    if (now := context.marked(x)) is not None:
        name += f": {curve.spectrum.values[now, 0]:.4g}, {curve.spectrum.rank[now]} above 0"
    series = [
        Series(
            "" if i else name,
            x[:count],
            values[:, i],
            colour(number) if i == 0 else others(),
            faint=i > 0,
            mark="" if i else "1",
        )
        for i in shown[::-1]
    ]
    return plot(context, f"Spectrum of {curve.name}", SingularValues.label, series, floor=0.0)


PANEL = Panel("svd", "the singular values of the selected learner's weights across targets", show, place=20)
