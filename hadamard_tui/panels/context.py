"""What the screen is to show: a run, the selected learner, and the place on the x-axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.claims import Outcome
from engine.results.results import Results
from engine.results.trace import Curve, Trace
from engine.spec.experiment import Experiment
from hadamard_tui.charts.chart_options import ChartOptions
from hadamard_tui.charts.letters import IN_ORDER, Letters
from hadamard_tui.charts.series_builder import Pen
from hadamard_tui.editing.fitting_claims import LeftOut
from hadamard_tui.running.certificate_worker import Measuring


@dataclass(frozen=True, eq=False)
class PanelContext:
    """All that a panel may look at.

    Args:
        curve: that of the selected learner.
        shown: how far along the x-axis the run is shown.
        place: where the playhead stands, at most `shown`.
        pinned: names and traces of the runs to compare with.
        outcomes: the claims judged, once the run is shown to its end.
        measuring: the certificates of the learners, where they were asked for.
        stopped: whether the run was, before its end.
        results: those of all points of the axes, as far as they have come.
        left_out: the claims of the set-up that do not fit it.
        letters: the numbers of curves, for their letters and colours.
    """

    experiment: Experiment
    trace: Trace
    curve: Curve
    shown: float
    place: float
    chart_options: ChartOptions
    pinned: Sequence[tuple[str, Trace]]
    outcomes: list[Outcome] | None
    measuring: Measuring | None
    stopped: bool = False
    results: Results | None = None
    left_out: Sequence[LeftOut] = ()
    letters: Letters = IN_ORDER

    @property
    def numbered(self) -> list[tuple[int, Curve]]:
        """The curves of the run with their numbers."""
        return list(zip(self.letters.of(self.trace), self.trace.curves, strict=True))

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of the curves, by their names."""
        return {curve.name: number for number, curve in self.numbered}

    def number(self, curve: Curve) -> int:
        """The number of a curve of the run."""
        return self.letters.of(self.trace)[self.trace.curves.index(curve)]

    @property
    def pen(self) -> Pen:
        """How the curves of this run are drawn."""
        return Pen(self.shown, self.place, self.chart_options)

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
