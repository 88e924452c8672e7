"""A run without the app: in a thread of its own, so that Ctrl-C is heard at once, with a progress bar."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait

from rich.console import Console

from engine.core.lazy import load_torch
from engine.results.trace import Trace
from engine.runtime.pacing import Pacing
from engine.runtime.run import Event, Loaded, run
from engine.spec.experiment import Experiment
from hadamard_tui.headless import console

POLL_SECONDS = 0.05

ROUND_SECONDS = 0.2
"""Between two looks at how far the run is."""


def compute(experiment: Experiment, errors: Console, threads: int | None = None) -> Trace:
    """Run an experiment to its end; progress is shown on `errors` if that is a terminal.

    torch uses at most `threads` threads, by default as many as it likes.

    Raises: BadInput for an experiment that cannot be run here, and whatever else the engine raises.
    """
    outcome: Future[Trace] = Future()
    loaded: list[Trace] = []

    def note(event: Event) -> None:
        if isinstance(event, Loaded):
            loaded.append(event.trace)

    def work() -> None:
        try:
            load_torch(threads)
            outcome.set_result(run(experiment, Pacing(ROUND_SECONDS).records, note))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=work, name="engine", daemon=True).start()
    with console.progress(errors) as progress:
        task = progress.add_task("loading", total=None)
        while not outcome.done():
            wait([outcome], POLL_SECONDS)
            for trace in loaded:
                what = f"running, in about {trace.environment['memory']}"
                progress.update(task, description=what, completed=done(trace), total=whole(trace))
    return outcome.result()


def done(trace: Trace) -> int:
    """The records that are there; a learner that ended early leaves none to wait for."""
    return sum(curve.capacity if curve.ended else curve.length for curve in trace.curves)


def whole(trace: Trace) -> int:
    """The records of all learners together."""
    return sum(curve.capacity for curve in trace.curves)
