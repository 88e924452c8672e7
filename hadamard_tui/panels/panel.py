"""Panels below the chart. A panel has a name, and a function that returns a chart or a text to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.text import Text

from hadamard_tui.charts.plots.look import Look, y_limits
from hadamard_tui.charts.plots.series_builder import Pen, Plot
from hadamard_tui.charts.series import Axes, Series, limits
from hadamard_tui.running.guesses import scored
from hadamard_tui.running.viewed import Retraining, Viewed, headline_of_look

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.measures import Measure
    from engine.results.results import Results
    from engine.results.trace import Curve, Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.drawing.nets import Nets
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.plots.look import ChartOptions
    from hadamard_tui.editing.document_edits import LeftOutClaim


class PanelPredictions(msgspec.Struct, frozen=True, eq=False):
    """Predictions about a run by claims and by the user, and the outcomes of the claims.

    Args:
        experiment: the experiment with its sweep axes, if the claims are about the sweep; None if they are
            about the run.
        outcomes: the outcomes of the claims; None until the run is shown to its end.
        results: the results at all sweep points; None if there is no sweep.
        left_out: claims that are omitted because they are not valid for the experiment.
        guesses: the user's guess of the x from which the loss of a learner stays below 0.1, by learner name;
            None means never.
    """

    experiment: Experiment | None = None
    outcomes: list[Outcome] | None = None
    results: Results | None = None
    left_out: Sequence[LeftOutClaim] = ()
    guesses: Mapping[str, float | None] = msgspec.field(default_factory=dict)


class PanelContext(msgspec.Struct, frozen=True, eq=False, dict=True):
    """State of the run and of the screen, from which a panel computes its content.

    Args:
        curve: the curve of the selected learner.
        shown: the x up to which the run is shown.
        place: the x of the playhead, at most `shown`.
        predictions: claims and guesses, and their outcomes.
        retraining: workers that train the learners again for panels.
        where: the sweep point as text; empty if there is no sweep.
        onward: sentences that suggest what to do next after this preset.
    """

    experiment: Experiment
    trace: Trace
    curve: Curve
    shown: float
    place: float
    chart_options: ChartOptions
    predictions: PanelPredictions = PanelPredictions()
    retraining: Retraining = msgspec.field(default_factory=Retraining)
    where: str = ""
    views: Viewed = msgspec.field(default_factory=Viewed)
    onward: Sequence[str] = ()

    def look(self, measure: str, title: str = "") -> Look:
        """Return the curves of a measure up to the last visible x, and the user's chart options.

        They are the data for a chart with all learners that have the measure.
        """
        from engine.results.results import of_one
        from engine.spec.experiment import of_run

        picture = of_run(self.experiment, measure, title)
        view = self.views.view(picture, of_one(self.experiment, self.trace))
        return Look(view, shown=self.shown, place=self.place, options=self.chart_options)

    @cached_property
    def loss(self) -> Look:
        """Curves of all learners' losses, and the user's chart options."""
        return self.look("loss")

    @property
    def playhead(self) -> float | None:
        """The x at which a vertical line marks the playhead; None at the end of the visible part."""
        return self.place if self.place < self.shown else None

    def marked(self, x: np.ndarray) -> int | None:
        """Return the index of the last evaluation point at or before the playhead.

        If no playhead is drawn, or if it is before the first evaluation point, return None.

        Args:
            x: the x of all evaluation points, in increasing order, [S].
        """
        if self.playhead is None:
            return None
        before = int(np.searchsorted(x, self.playhead, side="right"))
        return before - 1 if before else None


class Remedy(NamedTuple):
    """Change of the set-up after which an empty panel has content.

    Args:
        place: the name of the field to change.
        value: the new value of the field.
        words: text on what a run does after the change.
    """

    place: str
    value: Any
    words: str


class Lack(NamedTuple):
    """Reason why a panel has no content for an experiment, and the remedy if there is one."""

    reason: str
    remedy: Remedy | None = None


def recording(experiment: Experiment, words: str, *measures: Measure) -> Remedy:
    """Return the remedy for a panel that needs measures: add them to the measures that the run records.

    `words` says what a run does after this change.
    """
    recorded = experiment.run.measures
    missing = [measure for measure in measures if measure not in recorded]
    return Remedy("run.measures", msgspec.to_builtins([*recorded, *missing]), words)


def lacks_nothing(experiment: Experiment) -> Lack | None:
    """Return None, for panels that have content for every experiment."""
    return None


def nothing_to_count(context: PanelContext) -> str:
    """Return "". Panels that count nothing use this function for the text on their tabs."""
    return ""


class Panel(NamedTuple):
    """Panel below the main chart.

    Args:
        name: one word that identifies the panel.
        about: a short description, shown before a run.
        show: function that returns the content: a chart, a heat map, nets, or a text. The text may be the
            reason why the panel is empty.
        place: number by which panels are ordered. The first nine panels have a digit as their key.
        word: the word on the panel's tab; by default, it is the name.
        tally: function that returns the text after the word on the tab once a run has ended, such as "3/4".
        lacks: function that returns the reason why the panel has no content for an experiment, or None if it
            has. If there is a reason, the panel's tab is dimmed, and `show` is not called.
        looks_inside: whether the panel shows the weights inside learners, which must be trained again for
            that.
        experimental: whether the panel is unfinished. Such a panel comes after all other panels, and the
            documentation leaves it out.
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
    """Return the chart of a panel, with series against the clock of the run, such as the number of examples.

    Args:
        floor: a value that the y-axis must contain, in addition to the visible values.
        highest: largest absolute value on a linear y-axis.
        smoothed: text on the width of the moving average, or "".
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


def headline(context: PanelContext, look: Look) -> str:
    """Return the headline of a chart.

    Once the run is shown to its end, the headline states the finding. Until then, it is the title of the
    experiment.
    """
    predictions = context.predictions
    if predictions.outcomes is None:
        return context.experiment.title
    experiment = predictions.experiment or context.experiment
    words = headline_of_look(look, experiment, predictions.outcomes, predictions.results)
    return f"{scored(predictions.guesses, context.loss.view)} {words}" if predictions.guesses else words


def measured(context: PanelContext, measure: str) -> list[Series]:
    """Return the curves of a measure as series, for all learners that have it, up to the last visible x."""
    look = context.look(measure)
    return [segment for curve in look.view.curves if len(curve.x) for segment in Pen(look).draw(curve)]


def nothing(text: str) -> Text:
    """Return a text in italics, to be shown by a panel that has no other content."""
    return Text(text, style="italic")
