"""Panel: a name, and a function from the context of the screen to a chart or to words."""

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
    """Predictions about a run, and their outcomes.

    Args:
        experiment: the experiment at all points of the axes, for claims; None for the experiment of the run.
        outcomes: the judged claims; None until the run is shown to its end.
        results: the results at all points of the axes; None for a single point.
        left_out: the claims of the set-up that do not fit it.
        guesses: guessed x at which learners fall below a tenth, by name; None for "never".
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
        shown: the shown extent of the run on the x-axis.
        place: the place of the playhead, at most `shown`.
        predictions: claims and guesses, and their outcomes.
        retraining: workers that train the learners again for panels.
        where: the point of the axes as text; empty without axes.
        onward: sentences about the next steps from this preset.
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
        """Return the look at a measure of all learners that have it, along the shown part of the run."""
        from engine.results.results import of_one
        from engine.spec.experiment import of_run

        picture = of_run(self.experiment, measure, title)
        view = self.views.view(picture, of_one(self.experiment, self.trace))
        return Look(view, shown=self.shown, place=self.place, options=self.chart_options)

    @cached_property
    def loss(self) -> Look:
        """The `Look` at the loss of all learners."""
        return self.look("loss")

    def headline(self, look: Look) -> str:
        """Return the finding of the picture once the run is shown to its end; before, its subject."""
        predictions = self.predictions
        if predictions.outcomes is None:
            return self.experiment.title
        experiment = predictions.experiment or self.experiment
        words = headline_of_look(look, experiment, predictions.outcomes, predictions.results)
        return f"{scored(predictions.guesses, self.loss.view)} {words}" if predictions.guesses else words

    @property
    def playhead(self) -> float | None:
        """Place of the vertical line; None at the end of the shown extent."""
        return self.place if self.place < self.shown else None

    def marked(self, x: np.ndarray) -> int | None:
        """Return the index of the record in x [S] that the playhead marks; None without one."""
        if self.playhead is None:
            return None
        before = int(np.searchsorted(x, self.playhead, side="right"))
        return before - 1 if before else None


class Remedy(NamedTuple):
    """Change of the set-up that gives a panel content, and a text on its effect on a run."""

    place: str
    value: Any
    words: str


class Lack(NamedTuple):
    """Sentence on why a panel has no content for an experiment, and the remedy."""

    reason: str
    remedy: Remedy | None = None


def recording(experiment: Experiment, words: str, *measures: Measure) -> Remedy:
    """Return the remedy that records further measures in the run."""
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
    """Panel below the chart of losses.

    Args:
        name: one word, for the row of tabs.
        about: a description in half a sentence, which is shown before a run.
        show: returns a chart, a heat map, nets, or a text, which may give the reason why the panel is empty.
        place: position among the panels; the first nine have a digit as their key.
        word: the word on its tab; the name by default.
        tally: the text behind the word once a run has ended, such as the number of claims that hold.
        lacks: returns the reason why it does not apply to an experiment, for any selected learner; None if it
            applies. Otherwise its tab is dimmed, and `show` is not called.
        looks_inside: whether it shows the inside of learners, which must be trained once more for it.
        experimental: whether it is unfinished. It then follows all others, whatever its place, and documents
            and pictures of the app omit it.
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

    Its axes contain `floor` and the visible values, at most ± `highest` if they are linear. `smoothed` states
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
    """Return the chart of a measure for all learners that have it, up to the shown record."""
    look = context.look(measure)
    return [segment for curve in look.view.curves if len(curve.x) for segment in Pen(look).draw(curve)]


def nothing(text: str) -> Text:
    """Return the words of a panel without content."""
    return Text(text, style="italic")
