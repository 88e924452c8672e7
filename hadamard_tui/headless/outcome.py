"""Result of running a preset without the app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from engine.results.outcomes import judge, unexpected_divergence
from engine.results.report import encode
from engine.spec import presets
from engine.spec.experiment import drawn
from hadamard_tui.headless.compute import compute_all
from hadamard_tui.running.progress import costs
from hadamard_tui.state import kept_points

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw


@dataclass(frozen=True)
class Done:
    """A finished run of a preset."""

    document: Raw
    results: Results
    outcomes: list[Outcome]
    """Outcomes of all claims."""

    strayed: list[str]
    """Learners that diverged although no claim says that they do."""

    @property
    def experiment(self) -> Experiment:
        """Experiment at the first point."""
        return self.results.sweep.experiment

    @property
    def trace(self) -> Trace:
        """Trace at the first point."""
        return self.results.traces[0]

    @property
    def has_pictures(self) -> bool:
        """Whether the run is shown by pictures; otherwise it is shown as losses along its clock."""
        return bool(drawn(self.experiment))

    @property
    def exit_code(self) -> int:
        """1 if a claim failed or a learner diverged unexpectedly, else 0."""
        return int(bool(self.strayed) or any(outcome.holds is False for outcome in self.outcomes))

    def as_json(self, by_replica: bool = False) -> bytes:
        """The result as JSON, with the values of every replica if asked for; BadInput for too many."""
        return encode(self.document, self.results, self.outcomes, by_replica)


def computed(preset: str, document: Raw, errors: Console, fresh: bool = False) -> Done:
    """Run the experiment that the document of a preset describes.

    Points of axes are stored on disk, and read from there unless `fresh`. The cost of expensive measures is
    printed before the run if `errors` is a terminal.

    Raises: BadInput for an experiment that cannot run here, and any other error of the engine.
    """
    sweep = presets.sweep_of(preset, document)
    if errors.is_terminal:
        for words in costs(sweep.experiment):
            errors.print(words, style="dim", soft_wrap=True)
    store = None if fresh else kept_points.store_for(sweep)
    results = compute_all(sweep, errors, store=store)
    strayed = [] if sweep.axes else unexpected_divergence(sweep.experiment, results.traces[0])
    return Done(document, results, judge(results), strayed)
