"""Runs without the app. A separate thread computes a run, so that Ctrl-C works at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from engine.core.journal import SUFFIX
from engine.core.parts import BadInput
from engine.results.outcomes import judge, unexpected_divergence
from engine.results.report import encode
from engine.runtime.conclusion import conclude
from engine.runtime.job import Job
from engine.runtime.run import NotKept
from engine.runtime.run_writer import RunWriter
from engine.runtime.stored_run import read
from engine.runtime.sweep_run import Removed
from engine.spec import presets
from engine.spec.experiment import drawn
from engine.spec.sweep import only
from hadamard_tui.headless import console
from hadamard_tui.headless.detaching import DETACHED, FORMER
from hadamard_tui.running.costs import costs
from hadamard_tui.running.progress import skipped
from hadamard_tui.state import run_store
from hadamard_tui.terminal.signals import Terminated, raised

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.runtime.spreading import Begin
    from engine.runtime.sweep_run import Event
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from engine.spec.sweep import Sweep
    from hadamard_tui.headless.console import ProgressLines


POLL_SECONDS = 0.05
"""Seconds between two updates of the progress."""


PATIENCE = 0.5
"""Maximum seconds that a signal waits for the engine to stop and store its last results.

The product of large matrices can take longer. The run is then marked as stopped without these results.
"""


def compute(experiment: Experiment, errors: Console, threads: int | None = None) -> Trace:
    """Run an experiment without sweep axes, like `compute_all`, and return its results."""
    return compute_all(only(experiment), errors, threads).traces[0]


def compute_all(
    sweep: Sweep,
    errors: Console,
    threads: int | None = None,
    writer: RunWriter | None = None,
    lines: ProgressLines | None = None,
    devices: Sequence[Begin] = (),
) -> Results:
    """Run all points of a sweep, and return their results.

    Progress and notes about data files are printed on `errors`.

    Args:
        threads: maximum number of threads of torch; None for no limit.
        lines: printer of progress, to share between runs; None for a new one.
        devices: devices between which the sweep points or the replicas are divided. A device is a function
            that starts a process on the device.

    Raises: BadInput for an experiment that cannot run here, and any other error of the engine. Terminated
        after a signal such as SIGTERM; the store then has the results so far.
    """
    for sentence in sweep.data_sentences:
        errors.print(f"data: {sentence}", soft_wrap=True)

    def note(event: Event) -> None:
        if isinstance(event, NotKept):
            errors.print(f"the run cannot be stored: {event.why}", soft_wrap=True)
        elif isinstance(event, Removed):
            errors.print(run_store.removed_in_words(event.runs), soft_wrap=True)

    def end_at_once(code: int) -> NoReturn:
        console.give_back(errors)
        os._exit(code)

    with raised(end_at_once):
        job = Job(sweep, note, writer, threads, devices)
        try:
            with console.progress(errors, lines) as show:
                while not job.wait(POLL_SECONDS):
                    show(*(("loading", 0.0) if job.results is None else state(job.results)))
        except (KeyboardInterrupt, Terminated):
            job.stop()
            if not job.wait(PATIENCE) and writer is not None:
                writer.stop_at_once()
            raise
    return job.finish()


def state(results: Results) -> tuple[str, float]:
    """Return a phrase about the current computation, and the finished share of the sweep."""
    points = results.sweep.points
    number = max(results.traces, default=None)
    if number is None:
        return "drawing data", 0.0
    memory = f"in about {results.traces[number].environment['memory']}"
    if not results.sweep.axes:
        return f"running, {memory}", results.share
    done = len(results.finished) + len(results.left_out)
    left_out = f", {words}" if (words := skipped(results)) else ""
    where = f"{done} of {len(points)} sweep points done, {points[number].label}"
    return f"{where}, {memory}{left_out}", results.share


@dataclass(frozen=True)
class Done:
    """Finished run of a preset."""

    document: Raw
    results: Results
    outcomes: list[Outcome]

    strayed: list[str]
    """Names of the learners that diverged although no claim expects it."""

    @property
    def experiment(self) -> Experiment:
        return self.results.sweep.experiment

    @property
    def trace(self) -> Trace:
        return self.results.traces[0]

    @property
    def has_pictures(self) -> bool:
        return bool(drawn(self.experiment))

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 1 if a claim failed or a learner diverged unexpectedly, otherwise 0."""
        return int(bool(self.strayed) or any(outcome.holds is False for outcome in self.outcomes))

    def as_json(self, by_replica: bool = False) -> bytes:
        """Return the results as JSON. If `by_replica`, the JSON also has the values of each replica.

        Raises: BadInput for too many values.
        """
        return encode(self.document, self.results, self.outcomes, by_replica)


def computed(
    preset: str, document: Raw, errors: Console, fresh: bool = False, devices: Sequence[Begin] = ()
) -> Done:
    """Run the experiment in `document`, and store the run. `document` is `preset` with changes.

    Unless `fresh`, results of sweep points that earlier runs computed are read from the store. If `errors` is
    a terminal, the costs of expensive measures are printed before the run.

    Raises: BadInput for an experiment that cannot run here, and any other error of the engine.
    """
    of_preset = read(Path(preset))[0].preset or preset if preset.endswith(SUFFIX) else preset
    sweep = presets.sweep_of(of_preset, document)
    for words in sweep.idle_axes:
        errors.print(f"{words}.", soft_wrap=True)
    if errors.is_terminal:
        for words in costs(sweep.experiment):
            errors.print(words, style="dim", soft_wrap=True)
    store = run_store.store()
    if former := run_store.drop_former_points():
        errors.print(former, soft_wrap=True)
    writer, former_run = None, None
    if store is not None:
        detached = os.environ.pop(DETACHED, None)
        former_run = store.run(os.environ.pop(FORMER, ""))
        writer = RunWriter(store, document, of_preset, not fresh, detached is not None, detached)
    results = compute_all(sweep, errors, writer=writer, devices=devices)
    strayed = [] if sweep.axes else unexpected_divergence(sweep.experiment, results.traces[0])
    outcomes = judge(results)
    if store is not None and writer is not None:
        conclude(store, writer.run, results, outcomes)
        if former_run is not None:
            with suppress(BadInput):
                store.remove(former_run)
    return Done(document, results, outcomes, strayed)
