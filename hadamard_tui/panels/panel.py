"""A panel: a name, and a function from the context to a chart or to words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.text import Text

from hadamard_tui.charts.look import y_limits
from hadamard_tui.charts.series import Axes, Series, limits
from hadamard_tui.charts.series_builder import Pen, Plot

if TYPE_CHECKING:
    from engine.measures import Measure
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.nets import Nets
    from hadamard_tui.panels.context import PanelContext


class Remedy(NamedTuple):
    """A value of the set-up that gives a panel something to show, and its effect on a run, in words."""

    place: str
    value: Any
    words: str


class Lack(NamedTuple):
    """Why a panel has nothing to show of an experiment, in a sentence, and its remedy."""

    reason: str
    remedy: Remedy | None = None


def recording(experiment: Experiment, words: str, *measures: Measure) -> Remedy:
    """Return the remedy that adds measures to those that a run records."""
    recorded = experiment.run.measures
    missing = [measure for measure in measures if measure not in recorded]
    return Remedy("run.measures", msgspec.to_builtins([*recorded, *missing]), words)


def lacks_nothing(experiment: Experiment) -> Lack | None:
    """Return None: the panel applies to every experiment."""
    return None


def nothing_to_count(context: PanelContext) -> str:
    """Return an empty tally."""
    return ""


class Panel(NamedTuple):
    """A panel below the chart of losses.

    Args:
        name: one word, for the row of panels.
        about: what it shows, in half a sentence; all there is to say before a run.
        show: a chart, a heat map or nets; or words, where these are shown or say why nothing is.
        place: panels stand in the order of these numbers; the first nine have a digit as their key.
        word: what stands on its tab; the name by default.
        tally: what stands behind the word once a run has ended, as how many claims hold.
        lacks: why it does not apply to an experiment, whoever is selected; None where it does. Its name is
            dimmed then, and `show` is not called.
        looks_inside: whether it shows what the learners are made of, for which they train once more.
        experimental: whether the author is still at work on it: then it stands behind the others, whatever
            its place, and documents and pictures of the app do without it.
    """

    name: str
    about: str
    show: Callable[[PanelContext], Plot | HeatMap | Nets | Text]
    place: int = 200
    word: str = ""
    tally: Callable[[PanelContext], str] = nothing_to_count
    lacks: Callable[[Experiment], Lack | None] = lacks_nothing
    looks_inside: bool = False
    experimental: bool = False


def plot(
    context: PanelContext,
    title: str,
    y_label: str,
    series: Iterable[Series],
    floor: float = np.inf,
    highest: float = np.inf,
    smoothed: str = "",
) -> Plot:
    """Return a chart along the x-axis of the run.

    Its axes hold `floor` and the visible values, at most ± `highest` if they are linear. `smoothed` states
    the width of the smoothing.
    """
    series, options = list(series), replace(context.chart_options, x_log=context.loss.resolved.x_log)
    low, high = options.x_limits(context.trace.x)
    ys = [curve.y[(curve.x >= low) & (curve.x <= high)] for curve in series]
    values = np.concatenate([y[np.isfinite(y)] for y in ys] or [np.empty(0)])
    y_axis, refused = y_limits(values, options, own_log=False)
    held = (values if floor == np.inf else np.append(values, floor)).clip(-highest, highest)
    labels = title, context.trace.x_label, y_label
    x_log, y_log = bool(options.x_log) and low > 0, y_axis is not None
    axes = Axes(*labels, (low, high), y_axis or limits(held), x_log, y_log)
    return Plot(series, axes, refused, context.playhead, smoothed)


def measured(context: PanelContext, measure: str) -> list[Series]:
    """Return a measure of all learners that have it, as far as it is shown."""
    look = context.look(measure)
    return [segment for curve in look.view.curves if len(curve.x) for segment in Pen(look).draw(curve)]


def nothing(text: str) -> Text:
    """Return the words of a panel that has nothing to show."""
    return Text(text, style="italic")
