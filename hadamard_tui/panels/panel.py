"""What a panel is: a name, and a function from what is in sight to a chart or to words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rich.text import Text

from hadamard_tui.charts.series import Axes, Series, limits
from hadamard_tui.charts.series_builder import Pen, Plot
from hadamard_tui.charts.y_limits import y_limits
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
    series, options = list(series), replace(context.chart_options, x_log=context.x_log)
    low, high = options.x_limits(context.trace.x)
    ys = [one.y[(one.x >= low) & (one.x <= high)] for one in series]
    values = np.concatenate([y[np.isfinite(y)] for y in ys] or [np.empty(0)])
    y_axis, refused = y_limits(values, options, own_log=False)
    held = (values if floor == np.inf else np.append(values, floor)).clip(-most, most)
    labels = title, context.trace.x_label, y_label
    x_log, y_log = context.x_log and low > 0, y_axis is not None
    return Plot(
        series, Axes(*labels, (low, high), y_axis or limits(held), x_log, y_log), refused, context.playhead
    )


def measured(context: PanelContext, measure: str) -> list[Series]:
    """A measure of every learner that has it, up to what is shown."""
    look = context.look(measure)
    return [one for curve in look.view.curves if len(curve.x) for one in Pen(look).draw(curve)]


def nothing(text: str) -> Text:
    """Why a panel has nothing to show."""
    return Text(text, style="italic")
