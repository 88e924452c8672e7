"""Session: a run on the screen, with its engine, its current sweep point and its playback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from engine.core.expressions import values_written
from engine.pictures.view import along_records
from engine.results.outcomes import judge
from engine.results.results import of_one
from engine.runtime import worker as engine
from engine.runtime.run import Finished, Loaded
from engine.runtime.sweep_run import Begun, Sampled, Stored
from engine.spec.experiment import drawn, of_run
from hadamard_tui.charts.plots.look import ChartOptions, Look, Pinned
from hadamard_tui.running.follower import Follower, Silent
from hadamard_tui.running.playback import Pace, Playback
from hadamard_tui.running.progress import EngineTime, skipped
from hadamard_tui.running.viewed import Retraining, Viewed

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.core.machine import MachineSample
    from engine.core.parts import BadInput
    from engine.pictures.picture import Picture
    from engine.protocols import Extent
    from engine.results.results import Results
    from engine.results.trace import Trace
    from engine.runtime.run_reader import RunReader
    from engine.runtime.run_writer import RunWriter
    from engine.runtime.spreading import Begin
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from engine.spec.sweep import Sweep
    from hadamard_tui.charts.series import Series
    from hadamard_tui.editing.document_edits import LeftOutClaim


class ShownPoint(msgspec.Struct, frozen=True, eq=False):
    """Point of a sweep. An experiment without sweep axes has a single point.

    Args:
        number: position among the points of the sweep.
        results: results of all points; None until the sweep has begun.
        trace: results of this point; None until its run has begun.
    """

    sweep: Sweep
    number: int = 0
    results: Results | None = None
    trace: Trace | None = None

    @property
    def experiment(self) -> Experiment:
        """Experiment at this point, without the learners that the sweep skips here."""
        if self.results is None:
            return self.sweep.points[self.number].experiment
        return self.results.experiment(self.number)

    @property
    def records(self) -> int:
        return self._extent.records

    @property
    def last(self) -> float:
        """Last x of the run at this point."""
        return float(self._extent.last)

    @property
    def _extent(self) -> Extent:
        experiment = self.experiment
        return experiment.protocol.extent(experiment.n)

    @property
    def label(self) -> str:
        """Values of the sweep axes at this point as text; empty without sweep axes."""
        return values_written(self.sweep.points[self.number].label, self.sweep.symbols)

    @property
    def count(self) -> str:
        """Position of this point among all, such as "2/5"; empty without sweep axes."""
        return f"{self.number + 1}/{len(self.sweep.points)}" if self.sweep.axes else ""

    @property
    def skipped(self) -> str:
        return "" if self.results is None else skipped(self.results)

    def picture(self, number: int) -> Picture:
        """Return picture `number`, counted from 1. Number 0 is the chart of the losses at this point."""
        if number:
            return drawn(self.sweep.experiment)[number - 1]
        picture = of_run(self.experiment)
        return msgspec.structs.replace(picture, title=", ".join(filter(None, (picture.title, self.label))))

    def x_at(self, record: int) -> float:
        """Return the x of an evaluation point, or 0 if the run has not begun."""
        return 0.0 if self.trace is None else float(self.trace.x[min(record, len(self.trace.x) - 1)])

    def record_at(self, x: float, log: bool = False) -> int:
        """Return the evaluation point whose x is nearest to `x`, or 0 if the run has not begun.

        Args:
            log: whether to compare logarithms, as on a logarithmic axis.
        """
        if self.trace is None:
            return 0
        grid = self.trace.x
        after = min(int(np.searchsorted(grid, x)), len(grid) - 1)
        before = max(after - 1, 0)
        middle = (grid[before] * grid[after]) ** 0.5 if log else (grid[before] + grid[after]) / 2
        return before if x < middle else after

    def at_place_of(self, look: Look) -> ShownPoint:
        """Return the sweep point that the cursor in a chart selects.

        If several points have the selected x and y, return `self` if it is one of them. Otherwise, return the
        last of them.
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


class Session:
    """Run on the screen: the results that the engine computes, and their playback.

    Args:
        document: the experiment as a preset document.
        preset: preset that the experiment was made from; None if there was none.
        turn: lock that the engine holds while it works, so that the engines of sessions take turns.
        left_out: claims that do not fit the experiment, with the reasons.
        at_once: whether to ignore the pace and show results as soon as they are computed.
        writer: writer that stores the run; None if the run is not stored.
        follow: reader of a stored run; None to compute the run here.
        devices: CUDA devices between which the run is divided, if the experiment's field `run.device` is
            "auto" or "cuda".
    """

    def __init__(
        self,
        sweep: Sweep,
        document: Raw,
        notify: Callable[[Session, engine.Event | Silent], None],
        threads: int,
        pace: Pace,
        preset: str | None = None,
        turn: threading.Lock | None = None,
        left_out: Sequence[LeftOutClaim] = (),
        letters: Mapping[str, int] = MappingProxyType({}),
        at_once: bool = False,
        writer: RunWriter | None = None,
        follow: RunReader | None = None,
        devices: Sequence[Begin] = (),
    ) -> None:
        self.sweep, self.document, self.preset, self.left_out = sweep, document, preset, left_out
        self.letters = letters
        """For each learner, by name, the number that determines its letter and colour."""

        self.views = Viewed(letters)
        self._pace, self.at_once = pace, at_once
        self.point = ShownPoint(sweep)
        """Sweep point on the screen: the point being computed, the last point, or a selected point."""

        self.playback = self._new_playback()
        self.engine_time = EngineTime(sweep)
        self.outcomes: list[Outcome] | None = None
        self.retraining = Retraining()
        self.stored_as: str | None = None
        """Id of the run in the store; None if the run is not stored."""

        self.machine: MachineSample | None = None
        """Last sample of the load of the machine that computes the run; None before the first sample."""

        self.guesses: dict[str, float | None] = {}
        """Value of x at which the user expects each learner's loss to fall below 0.1; None for "never"."""
        self._former_retraining: list[Retraining] = []
        """Workers that retrain the learners of sweep points that were on the screen before."""
        self._looks: dict[tuple[int, bool], Look] = {}
        self._engine: engine.State = "idle"
        self._stopped = False
        self._owed = 0
        self.is_followed = follow is not None
        """Whether the run is read from a file and not computed by this process."""

        self.is_spread = bool(devices) and sweep.experiment.run.device in ("auto", "cuda")
        """Whether the run is spread over devices."""

        self._worker: engine.Worker | Follower = (
            engine.Worker(
                sweep,
                lambda event: notify(self, event),
                threads,
                writer,
                turn,
                devices if self.is_spread else (),
            )
            if follow is None
            else Follower(follow, lambda event: notify(self, event))
        )

    def _new_playback(self) -> Playback:
        return Playback(self.point.records - 1, self._pace, self.at_once)

    def start(self, paused: bool = False) -> None:
        """Start the engine. If `paused`, it stops at the first evaluation point and waits for steps."""
        self.playback.playing = not paused
        self._worker.start(paused)

    def receive(self, event: engine.Event | Silent) -> None:
        match event:
            case Begun(begun, run):
                self.point, self.stored_as = replace(self.point, results=begun), run
            case Stored(run):
                self.stored_as = run
            case Sampled(sample):
                self.machine = sample
            case Loaded(trace):
                self._load_trace(trace)
            case Finished():
                assert self.point.results is not None, "a sweep begins before it ends"
                self.outcomes = judge(self.point.results)
                self.retraining = self._new_retraining()
            case engine.Changed(state):
                self._engine = state
                self._stopped = self._stopped or state == "stopped"
                self.engine_time.count(state == "running" and self.trace is not None)

    def _load_trace(self, trace: Trace) -> None:
        former, results = self.trace, self.point.results
        assert results is not None, "a sweep begins before its runs"
        number = next(
            number for number, candidate_trace in results.traces.items() if candidate_trace is trace
        )
        self.point = replace(self.point, number=number, trace=trace)
        if former is not None:  # playback of the next point starts at its start
            self.playback = self._new_playback()
        self.engine_time.begin()

    def _new_retraining(self) -> Retraining:
        return Retraining(None if self.trace is None else (self.experiment, self.trace))

    @property
    def experiment(self) -> Experiment:
        return self.point.experiment

    @property
    def trace(self) -> Trace | None:
        return self.point.trace

    def look(
        self,
        number: int = 0,
        options: ChartOptions | None = None,
        pinned: Sequence[Pinned] = (),
        cursor: float | None = None,
        height: float | None = None,
        ghost: Pinned | None = None,
        stored: Sequence[Series] = (),
    ) -> Look:
        """Return the current view of a picture. The session must have results.

        If nothing has changed since the last call, the result is the same object.

        Args:
            number: number of the picture, counted from 1; 0 for the losses at the current sweep point.
            pinned: views of the same picture for pinned runs.

        Raises: BadInput if these results do not have the picture.
        """
        point, playback = self.point, self.playback
        assert point.trace is not None, "there is nothing to look at"
        sweep_results = point.results if number else None
        look = Look(
            view=self.views.view(
                point.picture(number), sweep_results or of_one(point.experiment, point.trace)
            ),
            point=0 if sweep_results is None else point.number,
            newest=None if sweep_results is None else max(sweep_results.finished, default=None),
            shown=point.x_at(playback.shown),
            place=point.x_at(playback.place),
            options=options or ChartOptions(),
            cursor=cursor,
            height=height,
            pinned=pinned,
            stopped=self._stopped,
            ghost=ghost,
            stored=stored,
            guesses={} if number else self.guesses,
            moved=playback.moved,
            is_complete=sweep_results is not None and sweep_results.complete,
        )
        wanted = number, options is None
        if wanted not in self._looks or not look.is_as(self._looks[wanted]):
            self._looks[wanted] = look
        return self._looks[wanted]

    def go_to(self, look: Look) -> None:
        """If all runs are over, show the run at the sweep point that the cursor in a chart selects."""
        if not self.over or (point := self.point.at_place_of(look)) is self.point:
            return
        assert point.trace is not None, "a point with results has a trace"
        self.retraining.stop()
        self._former_retraining.append(self.retraining)
        self.point = point
        self.retraining = self._new_retraining()
        self.playback = self._new_playback()
        self.playback.position = float(point.trace.frontier)

    @property
    def state(self) -> str:
        if self._engine == "failed":
            return "failed"
        if self.playback.replaying:
            return "replaying"
        if self._stopped:
            return "stopped"
        if self._engine in ("idle", "loading"):
            return "loading engine"
        if self._engine == "waiting":
            return "waiting"
        if self.trace is None:
            return "drawing data"
        if self.over:
            return "finished"
        return "running" if self.playback.playing else "paused"

    @property
    def ended(self) -> bool:
        return self._stopped or self._engine in ("finished", "stopped")

    @property
    def over(self) -> bool:
        """Whether the engine has finished the run, and the playback has reached the end of the run."""
        trace = self.trace
        return self._engine == "finished" and trace is not None and self.playback.shown >= trace.frontier

    @property
    def is_moving(self) -> bool:
        """Whether the screen will change even if the user presses no key and the engine sends no event."""
        if self.retraining.is_at_work:
            return True
        if self.trace is None:
            return False
        is_owed = self._owed > 0 and self.playback.shown < self.trace.frontier
        return self.engine_time.is_counting or is_owed or self.playback.is_moving(self.trace.reached)

    def tick(self, seconds: float) -> None:
        if self.trace is None:
            return
        if self.point.results is not None:
            self.engine_time.observe(seconds, self.point.results)
        if self._owed and self.playback.step(self.trace.frontier):
            self._owed -= 1
        replaying = self.playback.replaying
        self.playback.tick(seconds, self.trace.reached)
        if replaying and not self.playback.replaying and not self.playback.playing:
            self.toggle()

    def toggle(self) -> None:
        """Pause or resume the run.

        If the playhead is at an earlier point, or if the run is over, start or stop a replay instead.
        """
        if self.playback.looking_back or self.over:
            self.playback.replay()
            return
        if self._stopped:
            return
        self.playback.playing = not self.playback.playing
        if self.playback.playing:
            self._owed = 0
            self._worker.resume()
        else:
            self._worker.pause()
            if self.trace is None:
                self._worker.step()  # a run that is paused before its first record has nothing to show yet

    def step(self) -> None:
        """Pause, and show the next evaluation point. If necessary, the engine computes it first.

        If the playhead is at an earlier point, only move the playhead to the next point.
        """
        if self.playback.looking_back:
            self.playback.move(1)
            return
        if self._stopped:
            return
        if self.playback.playing:
            self.toggle()
        shown = self.trace is not None and not self._owed and self.playback.step(self.trace.frontier)
        if not shown and self._engine not in ("finished", "failed"):
            self._worker.step()
            self._owed += 1

    def stop(self) -> None:
        """Stop the engine and the retraining of learners. The playback stays where it is."""
        self.retraining.stop()
        if self._engine != "failed" and not self.over:
            self._worker.stop()
            self._stopped, self.playback.playing = True, False

    def end(self, seconds: float = 0.0) -> bool:
        self._worker.stop()
        self.retraining.stop()
        retraining = [*self._former_retraining, self.retraining]
        return self._worker.join(seconds) and all(workers.join(min(seconds, 0.1)) for workers in retraining)


def refusal(event: engine.Event | Silent) -> BadInput | None:
    return event.error if isinstance(event, engine.Refused) else None
