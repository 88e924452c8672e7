"""A panel: a name, and a function from the context, the content of the screen, to a chart or to words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.text import Text

from hadamard_tui.charts.look import Look, y_limits
from hadamard_tui.charts.series import Axes, Series, limits
from hadamard_tui.charts.series_builder import Pen, Plot
from hadamard_tui.running.guesses import scored
from hadamard_tui.running.viewed import Retraining, Viewed, headline_of_look

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.measures import Measure
    from engine.results.results import Results
    from engine.results.trace import Curve, Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.look import ChartOptions
    from hadamard_tui.charts.nets import Nets
    from hadamard_tui.editing.document_edits import LeftOutClaim


class PanelPredictions(msgspec.Struct, frozen=True, eq=False):
    """Predictions about a run, and their outcomes.

    Args:
        experiment: the experiment at all points of the axes, for claims; None for that of the run.
        outcomes: the judged claims, once the run is shown to its end.
        results: the results at all points of the axes; None where there is one point.
        left_out: the claims of the set-up that do not fit it.
        guesses: guessed places where learners fall below a tenth, by name; None for never.
    """

    experiment: Experiment | None = None
    outcomes: list[Outcome] | None = None
    results: Results | None = None
    left_out: Sequence[LeftOutClaim] = ()
    guesses: Mapping[str, float | None] = msgspec.field(default_factory=dict)


class PanelContext(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Everything that a panel may read.

    Args:
        curve: the curve of the selected learner.
        shown: how far along the x-axis the run is shown.
        place: the place of the playhead, at most `shown`.
        predictions: claims and guesses, and their outcomes.
        retraining: workers that train the learners again for panels.
        where: the point of the axes, in words; empty without axes.
        onward: sentences about where to go from this preset.
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
        """Return the look at a measure of all learners that have it, along the run, as far as it is shown."""
        from engine.results.results import of_one
        from engine.spec.experiment import of_run

        picture = of_run(self.experiment, measure, title)
        view = self.views.view(picture, of_one(self.experiment, self.trace))
        return Look(view, shown=self.shown, place=self.place, options=self.chart_options)

    @cached_property
    def loss(self) -> Look:
        """Look at the loss of all learners."""
        return self.look("loss")

    def headline(self, look: Look) -> str:
        """Headline of the picture once the run is shown to its end; before, the subject of the run."""
        predictions = self.predictions
        if predictions.outcomes is None:
            return self.experiment.title
        experiment = predictions.experiment or self.experiment
        words = headline_of_look(look, experiment, predictions.outcomes, predictions.results)
        return f"{scored(predictions.guesses, self.loss.view)} {words}" if predictions.guesses else words

    @property
    def playhead(self) -> float | None:
        """Place to mark; None at the end of what is shown."""
        return self.place if self.place < self.shown else None

    def marked(self, x: np.ndarray) -> int | None:
        """Return the number of the record at x [S] that the playhead marks; None if it marks none."""
        if self.playhead is None:
            return None
        before = int(np.searchsorted(x, self.playhead, side="right"))
        return before - 1 if before else None


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
