"""What the screen is to show: a run, the selected learner, and the place on the x-axis."""

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
    from hadamard_tui.charts.chart_options import ChartOptions
    from hadamard_tui.editing.fitting_claims import LeftOut


class PanelPredictions(msgspec.Struct, frozen=True, eq=False):
    """What was said of a run in advance, and how it came out.

    Args:
        experiment: that of all points of the axes, which claims are about; None where it is that of the run.
        outcomes: the claims judged, once the run is shown to its end.
        results: those of all points of the axes; None where there is one.
        left_out: the claims of the set-up that do not fit it.
        guesses: where learners were guessed to come below a tenth, by name; None for never.
    """

    experiment: Experiment | None = None
    outcomes: list[Outcome] | None = None
    results: Results | None = None
    left_out: Sequence[LeftOut] = ()
    guesses: Mapping[str, float | None] = msgspec.field(default_factory=dict)


class PanelContext(msgspec.Struct, frozen=True, eq=False, dict=True):
    """All that a panel may look at.

    Args:
        curve: that of the selected learner.
        shown: how far along the x-axis the run is shown.
        place: where the playhead stands, at most `shown`.
        predictions: claims and guesses, and how they came out.
        retraining: workers that train the learners again for panels.
        where: which point of the axes it is, in words; nothing where there are no axes.
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
        """A measure of all learners that have it, along the run and as far as it is shown."""
        from engine.results.results import of_one
        from engine.spec.experiment import of_run

        picture = of_run(self.experiment, measure, title)
        view = self.views.view(picture, of_one(self.experiment, self.trace))
        return Look(view, shown=self.shown, place=self.place, options=self.chart_options)

    @cached_property
    def loss(self) -> Look:
        """The loss of all learners."""
        return self.look("loss")

    def headline(self, look: Look) -> str:
        """The headline of a picture, once the run is shown to its end; before that what the run is about."""
        predictions = self.predictions
        if predictions.outcomes is None:
            return self.experiment.title
        experiment = predictions.experiment or self.experiment
        words = headline_of_look(look, experiment, predictions.outcomes, predictions.results)
        return f"{scored(predictions.guesses, self.loss.view)} {words}" if predictions.guesses else words

    @property
    def playhead(self) -> float | None:
        """Where to mark the place; nothing to mark at the end of what is shown."""
        return self.place if self.place < self.shown else None

    def marked(self, x: np.ndarray) -> int | None:
        """The number of the record, of those at x [S], that the playhead marks; None if it marks none."""
        if self.playhead is None:
            return None
        before = int(np.searchsorted(x, self.playhead, side="right"))
        return before - 1 if before else None
