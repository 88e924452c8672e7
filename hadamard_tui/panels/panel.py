"""What a panel is: a name, and a function from what is in sight to a chart or to words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from rich.text import Text

from hadamard_tui.charts.series import Series
from hadamard_tui.charts.series_builder import Plot, axes
from hadamard_tui.panels.context import PanelContext


class Panel(NamedTuple):
    """A panel below the chart of losses.

    Args:
        name: one word, for the row of panels.
        about: what it shows, in half a sentence; all there is to say before a run.
        show: a chart; or words, where words are what it shows or why it has nothing to show.
        place: panels stand in the order of these numbers; the first nine have a digit as their key.
    """

    name: str
    about: str
    show: Callable[[PanelContext], Plot | Text]
    place: int = 100


def plot(
    context: PanelContext,
    title: str,
    y_label: str,
    series: Iterable[Series],
    floor: float = np.inf,
    most: float = np.inf,
) -> Plot:
    """A chart along the x-axis of the run.

    Its axes hold `floor` and what is in sight of the series, no more than ± `most` where they are linear.
    """
    series = list(series)
    on, refused = axes(title, context.trace, y_label, series, context.chart_options, floor, most)
    return Plot(series, on, refused, context.playhead)


def measured(context: PanelContext, measure: str) -> list[Series]:
    """A measure of every learner that has it, up to what is shown."""
    return [
        one
        for number, curve in context.numbered
        if (values := curve.mean(measure)) is not None
        for one in context.pen.draw(number, curve, measure, values)
    ]


def nothing(text: str) -> Text:
    """Why a panel has nothing to show."""
    return Text(text, style="italic")
