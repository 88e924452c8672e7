"""What the screen is to show: a run, the selected learner, and the place on the x-axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from engine.captions.room import PLENTY, Room
from hadamard_tui.charts.look import Look
from hadamard_tui.running.guesses import scored
from hadamard_tui.running.viewed import Viewed

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.pictures.view import CurveView, View
    from engine.results.trace import Curve, Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.chart_options import ChartOptions
    from hadamard_tui.editing.fitting_claims import LeftOut
    from hadamard_tui.running.certificate_worker import Measuring
    from hadamard_tui.running.snapshot_worker import Looking


class PanelContext(msgspec.Struct, frozen=True, eq=False, dict=True):
    """All that a panel may look at.

    Args:
        curve: that of the selected learner.
        shown: how far along the x-axis the run is shown.
        place: where the playhead stands, at most `shown`.
        outcomes: the claims judged, once the run is shown to its end.
        measuring: the certificates of the learners, where they were requested.
        stopped: whether the run was, before its end.
        left_out: the claims of the set-up that do not fit it.
        guesses: where learners were guessed to come below a tenth, by name.
        looking: snapshots of the learners, where they were requested.
        where: which point of the axes it is, in words; nothing where there are no axes.
        whole: the experiment with all points of its axes, which claims are about; None where it is this one.
    """

    experiment: Experiment
    trace: Trace
    curve: Curve
    shown: float
    place: float
    chart_options: ChartOptions
    outcomes: list[Outcome] | None
    measuring: Measuring | None
    stopped: bool = False
    left_out: Sequence[LeftOut] = ()
    where: str = ""
    views: Viewed = msgspec.field(default_factory=Viewed)
    looking: Looking | None = None
    guesses: Mapping[str, float | None] = msgspec.field(default_factory=dict)
    whole: Experiment | None = None

    def look(self, measure: str, title: str = "") -> Look:
        """A measure of all learners that have it, along the run and as far as it is shown."""
        from engine.results.results import of_one
        from engine.spec.pictures import of_run

        picture = of_run(self.experiment, measure, title)
        found = self.views.view(picture, of_one(self.experiment, self.trace))
        return Look(found, shown=self.shown, place=self.place, options=self.chart_options)

    @property
    def spectra(self) -> View:
        """The singular values of all learners that have them, along the whole run."""
        from engine.results.results import of_one
        from engine.results.spectra import picture_of_spectra

        return self.views.view(picture_of_spectra(self.experiment), of_one(self.experiment, self.trace))

    @cached_property
    def loss(self) -> Look:
        """The loss of all learners."""
        return self.look("loss")

    def drawn(self, curve: Curve) -> CurveView:
        """A curve of the run as it is drawn, with its letter and its colour."""
        return next(one for one in self.loss.view.curves if one.name == curve.name)

    def number(self, curve: Curve) -> int:
        """The number of a curve of the run, from which its letter follows."""
        return self.drawn(curve).number

    @property
    def x_log(self) -> bool:
        """Whether x is logarithmic."""
        return bool(self.loss.resolved.x_log)

    def caption(self, view: View, room: Room = PLENTY) -> str:
        """What a picture shows, once the run is shown to its end; before that what the run is about."""
        if self.outcomes is None:
            return room.cut(self.experiment.title)
        words = self.views.caption(view, self.whole or self.experiment, self.outcomes, room)
        guessed = scored(self.guesses, self.loss.view) if self.guesses else ""
        return room.cut(f"{guessed} {words}") if guessed else words

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
