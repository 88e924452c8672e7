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
    """Predictions about a run, made by the preset's claims and by the user, and the outcomes of the claims.

    Args:
        experiment: the experiment with its sweep axes, if the claims are about the sweep; otherwise None.
        outcomes: None until the run is shown to its end.
        results: the results at all sweep points; None if there is no sweep.
        left_out: claims that are omitted because they are not valid for the experiment.
        guesses: the x from which the user expects a learner's loss to stay below 0.1, by learner name; None
            means never.
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
        shown: the value of the run's clock up to which the run is shown, such as a number of examples.
        place: the value of the run's clock at the playhead, at most `shown`.
        retraining: workers that train the learners again for panels.
        where: the sweep point as text; empty if there is no sweep.
        onward: function that returns sentences on what to do after this preset. It reads the files of talks
            only when it is called.
        lists_by: words such as "F lists them", which replace long lists; empty if the panel shows the lists.
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
    onward: Callable[[], Sequence[str]] = tuple
    lists_by: str = ""

    def look(self, measure: str, title: str = "") -> Look:
        """Return the curves of a measure up to the x `shown`, with the user's chart options."""
        from engine.results.results import of_one
        from engine.spec.experiment import of_run

        picture = of_run(self.experiment, measure, title)
        view = self.views.view(picture, of_one(self.experiment, self.trace))
        return Look(view, shown=self.shown, place=self.place, options=self.chart_options)

    @cached_property
    def loss(self) -> Look:
        return self.look("loss")

    @property
    def playhead(self) -> float | None:
        """The x of the line at the playhead, or None if the playhead is at the end of the shown part."""
        return self.place if self.place < self.shown else None


def record_at_playhead(context: PanelContext, x: np.ndarray) -> int | None:
    """Return the index of the last evaluation point at or before the playhead.

    Return None if no playhead is drawn, or if the playhead is before the first evaluation point.

    Args:
        x: x of all evaluation points, in increasing order.
    """
    if context.playhead is None:
        return None
    before = int(np.searchsorted(x, context.playhead, side="right"))
    return before - 1 if before else None


class Remedy(NamedTuple):
    """Change of the set-up after which an empty panel has content.

    Args:
        place: the field to change, such as "run.measures".
        words: verb and object that describe the changed run, such as "records spectra".
    """

    place: str
    value: Any
    words: str


class Lack(NamedTuple):
    """Reason why a panel has no content for an experiment, and the remedy if there is one."""

    reason: str
    remedy: Remedy | None = None


def recording(experiment: Experiment, words: str, *measures: Measure) -> Remedy:
    """Return the change of the set-up after which the run also records `measures`."""
    recorded = experiment.run.measures
    missing = [measure for measure in measures if measure not in recorded]
    return Remedy("run.measures", msgspec.to_builtins([*recorded, *missing]), words)


def lacks_nothing(experiment: Experiment) -> Lack | None:
    return None


def nothing_to_count(context: PanelContext) -> str:
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
        lacks: function that returns the reason why the panel has no content for an experiment, or None if the
            panel has content. If there is a reason, the panel's tab is dimmed, and `show` is not called.
        looks_inside: whether the panel shows weights that the run does not record. To get these weights, the
            app trains the learners again.
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
    """Return the chart of a panel. Its x-axis is the clock of the run, such as the number of examples.

    Args:
        floor: a value that a linear y-axis must contain, in addition to the visible values; infinity if
            there is none.
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
    return Plot(series, axes, playhead=context.playhead, smoothed=smoothed, screen_note=refused)


def headline(context: PanelContext, look: Look) -> str:
    """Return the experiment's title until the run is shown to its end, and then the finding of the run.

    If the user has guessed, the score of the guesses precedes the finding.
    """
    predictions = context.predictions
    if predictions.outcomes is None:
        return context.experiment.title
    experiment = predictions.experiment or context.experiment
    words = headline_of_look(look, experiment, predictions.outcomes, predictions.results)
    return f"{scored(predictions.guesses, context.loss.view)} {words}" if predictions.guesses else words


def measured(context: PanelContext, measure: str) -> list[Series]:
    look = context.look(measure)
    return [segment for curve in look.view.curves if len(curve.x) for segment in Pen(look).draw(curve)]


def nothing(text: str) -> Text:
    return Text(text, style="italic")
