"""The runs that are kept for comparison."""

from __future__ import annotations

from dataclasses import dataclass

from engine.results.trace import Trace
from engine.spec.experiment import Experiment
from engine.spec.reading import Raw
from hadamard_tui.editing.differences import differences


@dataclass(eq=False)
class Kept:
    """A run that was pinned: its curves stay on the chart until it is deleted."""

    name: str
    document: Raw
    """Its set-up, as a preset would say it."""
    experiment: Experiment
    trace: Trace
    preset: str | None


class Runs:
    """The pinned runs, in the order in which they were pinned."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self._count = 0

    def pin(self, document: Raw, experiment: Experiment, trace: Trace, preset: str | None) -> Kept:
        """Keep a run, under a name of its own; `preset` is what its set-up came from."""
        self._count += 1
        run = Kept(f"run {self._count}", document, experiment, trace, preset)
        self.kept.append(run)
        return run

    def holds(self, trace: Trace) -> bool:
        """Whether the run with this trace is pinned."""
        return any(run.trace is trace for run in self.kept)

    def remove(self, run: Kept) -> None:
        """Let a run go, and its curves with it."""
        self.kept.remove(run)

    def others(self, trace: Trace | None) -> tuple[tuple[str, Trace], ...]:
        """Names and traces of the pinned runs, without the one that is on the screen itself."""
        return tuple((run.name, run.trace) for run in self.kept if run.trace is not trace)

    def told(self, number: int) -> str:
        """What run `number` is: the difference from the one before; of the first, its title."""
        run = self.kept[number]
        if number == 0:
            return run.experiment.title or "your own experiment"
        return changes(self.kept[number - 1].document, run.document)


def changes(before: Raw, after: Raw) -> str:
    """What differs between two runs, in one line."""
    return ", ".join(differences(before, after)) or "the same set-up"
