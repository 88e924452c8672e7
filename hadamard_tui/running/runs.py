"""The runs that are kept for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.pictures.view import View
from engine.results.results import Results, of_one
from engine.results.trace import Trace
from engine.spec.experiment import Experiment
from engine.spec.reading import Raw
from hadamard_tui.editing.differences import differences
from hadamard_tui.running.viewed import Viewed


@dataclass(eq=False)
class Kept:
    """A run that was pinned: its curves stay on the chart until it is deleted."""

    name: str
    document: Raw
    """Its set-up, as a preset would say it."""
    experiment: Experiment
    """That at the last point."""
    trace: Trace
    results: Results
    preset: str | None
    views: Viewed = field(default_factory=Viewed)

    def view(self, picture: Picture, whole: bool) -> View | None:
        """A picture of it, of the `whole` or of the last point alone; None if it is none of this run."""
        try:
            return self.views.view(picture, self.results if whole else of_one(self.experiment, self.trace))
        except BadInput:
            return None


class Runs:
    """The pinned runs, in the order in which they were pinned."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self._count = 0

    def pin(
        self,
        document: Raw,
        experiment: Experiment,
        trace: Trace,
        results: Results,
        preset: str | None,
        letters: Mapping[str, int],
    ) -> Kept:
        """Keep a run, under a name of its own.

        Args:
            preset: what its set-up came from.
            letters: the numbers of its learners.
        """
        self._count += 1
        name, views = f"run {self._count}", Viewed(letters)
        run = Kept(name, document, experiment, trace, results, preset, views)
        self.kept.append(run)
        return run

    def holds(self, trace: Trace) -> bool:
        """Whether the run with this trace is pinned."""
        return any(run.trace is trace for run in self.kept)

    def remove(self, run: Kept) -> None:
        """Let a run go, and its curves with it."""
        self.kept.remove(run)

    def others(self, trace: Trace | None) -> list[Kept]:
        """The pinned runs, without the one that is on the screen itself."""
        return [run for run in self.kept if run.trace is not trace]

    def told(self, number: int) -> str:
        """What run `number` is: the difference from the one before; of the first, its title."""
        run = self.kept[number]
        if number == 0:
            return run.experiment.title or "your own experiment"
        return changes(self.kept[number - 1].document, run.document)


def changes(before: Raw, after: Raw) -> str:
    """What differs between two runs, in one line."""
    return ", ".join(differences(before, after)) or "the same set-up"
