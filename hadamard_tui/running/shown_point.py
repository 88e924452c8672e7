"""The point of the axes on the screen: its experiment, its trace, and places on its x-axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from engine.core.expressions import values_written
from engine.pictures.view import along_records
from engine.spec.experiment import drawn, of_run
from hadamard_tui.running.progress import skipped

if TYPE_CHECKING:
    from engine.pictures.picture import Picture
    from engine.protocols import Extent
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.sweep import Sweep
    from hadamard_tui.charts.look import Look


class ShownPoint(msgspec.Struct, frozen=True, eq=False):
    """A point of a sweep.

    Args:
        number: its position among the points of the sweep.
        results: the results of all points; None until the sweep has begun.
        trace: the trace of this point; None until its run has begun.
    """

    sweep: Sweep
    number: int = 0
    results: Results | None = None
    trace: Trace | None = None

    @property
    def experiment(self) -> Experiment:
        """Experiment at this point, without the learners that are skipped here."""
        if self.results is None:
            return self.sweep.points[self.number].experiment
        return self.results.experiment(self.number)

    @property
    def records(self) -> int:
        """Number of records of the run."""
        return self._extent.records

    @property
    def last(self) -> float:
        """Last place on the x-axis of the run."""
        return float(self._extent.last)

    @property
    def _extent(self) -> Extent:
        experiment = self.experiment
        return experiment.protocol.extent(experiment.n)

    @property
    def label(self) -> str:
        """Values of the axes in words; empty without axes."""
        return values_written(self.sweep.points[self.number].label, self.sweep.symbols)

    @property
    def count(self) -> str:
        """Position among all points, as 2/5; empty without axes."""
        return f"{self.number + 1}/{len(self.sweep.points)}" if self.sweep.axes else ""

    @property
    def skipped(self) -> str:
        """Runs of the sweep that need not be computed, in words; empty if there are none."""
        return "" if self.results is None else skipped(self.results)

    def picture(self, number: int) -> Picture:
        """Return picture 1, 2, … of the experiment; 0 is the picture of the run at this point."""
        if number:
            return drawn(self.sweep.experiment)[number - 1]
        picture = of_run(self.experiment)
        return msgspec.structs.replace(picture, title=", ".join(filter(None, (picture.title, self.label))))

    def x_at(self, record: int) -> float:
        """Return the place of a record on the x-axis of the run; 0 without a run."""
        return 0.0 if self.trace is None else float(self.trace.x[min(record, len(self.trace.x) - 1)])

    def record_at(self, x: float, log: bool = False) -> int:
        """Return the record nearest to x, by factors on a logarithmic axis; 0 without a run."""
        if self.trace is None:
            return 0
        grid = self.trace.x
        after = min(int(np.searchsorted(grid, x)), len(grid) - 1)
        before = max(after - 1, 0)
        middle = (grid[before] * grid[after]) ** 0.5 if log else (grid[before] + grid[after]) / 2
        return before if x < middle else after

    def at_place_of(self, look: Look) -> ShownPoint:
        """Return the point at the selected place of a picture.

        Of several points the last one, unless this point is among them.
        """
        if self.results is None:
            return self
        view, points = look.view, self.sweep.points
        numbers = [number for number in self.results.traces if points[number].is_in(view.picture)]
        if not along_records(view):
            numbers = [number for number in numbers if view.x_of(number, np.inf) == look.x] or numbers
            numbers = [number for number in numbers if view.y_of(number) == look.y] or numbers
        if not numbers or self.number in numbers:
            return self
        number = numbers[-1]
        return msgspec.structs.replace(self, number=number, trace=self.results.traces[number])
