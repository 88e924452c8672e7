"""What came out of running a preset without the app."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from engine.results.outcomes import judge, unexpected_divergence
from engine.results.report import encode
from engine.spec import presets
from engine.spec.pictures import drawn
from hadamard_tui.headless.compute import compute_all
from hadamard_tui.running.costs import costs
from hadamard_tui.state import kept_points

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw


@dataclass(frozen=True)
class Done:
    """A preset that was run to its end."""

    document: Raw
    results: Results
    outcomes: list[Outcome]
    """Every claim, judged."""

    strayed: list[str]
    """The learners that diverged although no claim says that they do."""

    @property
    def experiment(self) -> Experiment:
        """The experiment at the first point."""
        return self.results.sweep.experiment

    @property
    def trace(self) -> Trace:
        """The trace there."""
        return self.results.traces[0]

    @property
    def has_pictures(self) -> bool:
        """Whether it is shown by pictures, or as losses against the clock of its protocol."""
        return bool(drawn(self.experiment))

    @property
    def exit_code(self) -> int:
        """1 if a claim failed, or a learner strayed."""
        return int(bool(self.strayed) or any(outcome.holds is False for outcome in self.outcomes))

    def as_json(self, by_replica: bool = False) -> bytes:
        """The result as JSON, with the values of every replica if asked for; BadInput for too many."""
        return encode(self.document, self.results, self.outcomes, by_replica)


def computed(preset: str, document: Raw, errors: Console, fresh: bool = False) -> Done:
    """Run what the document of a preset describes.

    Points of axes are kept on disk, and taken from there unless `fresh`. What expensive measures cost is said
    before, if `errors` is a terminal.

    Raises: BadInput for what cannot be run here, and whatever else the engine raises.
    """
    sweep = presets.sweep_of(preset, document)
    if errors.is_terminal:
        for words in costs(sweep.experiment):
            errors.print(words, style="dim", soft_wrap=True)
    store = None if fresh else kept_points.store_for(sweep)
    results = compute_all(sweep, errors, store=store)
    strayed = [] if sweep.axes else unexpected_divergence(sweep.experiment, results.traces[0])
    return Done(document, results, judge(results), strayed)
