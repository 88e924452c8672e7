"""Content of the screen: a run, the selected learner, and the place on the x-axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hadamard_tui.charts.look import Look
from hadamard_tui.running.guesses import scored
from hadamard_tui.running.headline import headline_of_look
from hadamard_tui.running.retraining import Retraining
from hadamard_tui.running.viewed import Viewed

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.results import Results
    from engine.results.trace import Curve, Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.look import ChartOptions
    from hadamard_tui.editing.fitting_claims import LeftOut


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
    left_out: Sequence[LeftOut] = ()
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
