"""One run as it is shown: the engine's worker, the trace it fills, and the playback over it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from engine.core.notation import values_written
from engine.core.parts import BadInput
from engine.pictures.view import along_records
from engine.results.outcomes import judge
from engine.results.results import Results, of_one
from engine.runtime import worker as engine
from engine.runtime.run import Finished, Loaded
from engine.runtime.sweep import Begun
from engine.spec.pictures import drawn, of_run
from hadamard_tui.charts.chart_options import ChartOptions
from hadamard_tui.charts.look import Look
from hadamard_tui.running.certificate_worker import CertificateWorker
from hadamard_tui.running.playback import Pace, Playback
from hadamard_tui.running.progress import Remaining, points_done, skipped
from hadamard_tui.running.snapshot_worker import SnapshotWorker
from hadamard_tui.running.viewed import Viewed

if TYPE_CHECKING:
    from engine.claims import Outcome
    from engine.pictures.picture import Picture
    from engine.pictures.view import View
    from engine.results.trace import Trace
    from engine.runtime.store import Store
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from engine.spec.sweep import Sweep
    from hadamard_tui.editing.fitting_claims import LeftOut


class Session:
    """Joins what the engine has computed with what the screen shows of it.

    `document` is the set-up as a preset would say it, `left_out` are the claims that do not fit it. Of
    sessions with the same `turn` the engine of one is at work at a time. With `at_once` curves are shown as
    they come, whatever the pace. A `store` keeps finished points of axes.
    """

    def __init__(
        self,
        sweep: Sweep,
        document: Raw,
        notify: Callable[[Session, engine.Event], None],
        threads: int,
        pace: Pace,
        preset: str | None = None,
        turn: threading.Lock | None = None,
        left_out: Sequence[LeftOut] = (),
        letters: Mapping[str, int] = MappingProxyType({}),
        at_once: bool = False,
        store: Store | None = None,
    ) -> None:
        self.sweep, self.document, self.preset, self.left_out = sweep, document, preset, left_out
        self.letters = letters
        """The numbers of the learners for their letters and colours, by name."""

        self.views = Viewed(letters)
        self._pace, self.at_once = pace, at_once
        self._begin_playback(sweep.experiment)
        self.results: Results | None = None
        self.trace: Trace | None = None
        """That of the point that is computed now, or of the last one."""

        self.point = 0
        """The number of that point."""

        self.outcomes: list[Outcome] | None = None
        self.measuring: CertificateWorker | None = None
        self.looking: SnapshotWorker | None = None
        self.guesses: dict[str, float | None] = {}
        """Where learners were guessed to come below a tenth, None for never, by name."""
        self._left_beside: list[CertificateWorker | SnapshotWorker] = []
        """What trained beside runs that are no longer on the screen."""
        self._looks: dict[tuple[int, bool], Look] = {}
        self._engine: engine.State = "idle"
        self._stopped = False
        self._owed = 0
        self._worked = 0.0
        self._since: float | None = None
        self._remaining = Remaining()
        self._worker = engine.Worker(sweep, lambda event: notify(self, event), threads, store, turn)

    def _begin_playback(self, experiment: Experiment) -> None:
        rows = experiment.n
        self.playback = Playback(experiment.protocol.extent(rows).records - 1, self._pace, self.at_once)
        self.last = float(experiment.protocol.extent(rows).last)
        """Where the x-axis of the run ends."""

    def start(self, paused: bool = False) -> None:
        """Start the engine; a run started paused stands at its first record and waits for steps."""
        self.playback.playing = not paused
        self._worker.start(paused)

    def receive(self, event: engine.Event) -> None:
        """Take in a state change of the engine."""
        match event:
            case Begun(results):
                self.results = results
            case Loaded(trace):
                assert self.results is not None, "a sweep begins before its runs"
                self.point = next(number for number, known in self.results.traces.items() if known is trace)
                if self.trace is not None:  # the next point is played from its start
                    self._begin_playback(self.experiment)
                self.trace = trace
                self._since = time.perf_counter()
            case Finished():
                assert self.results is not None, "a sweep begins before it ends"
                self.outcomes = judge(self.results)
            case engine.Changed(state):
                self._engine = state
                self._clock()

    @property
    def experiment(self) -> Experiment:
        """The experiment at the point that is shown, of learners that are not skipped there."""
        if self.results is None:
            return self.sweep.points[self.point].experiment
        return self.results.experiment(self.point)

    @property
    def where(self) -> str:
        """Which point of the axes is shown, in words; nothing where there are no axes."""
        return values_written(self.sweep.points[self.point].label, self.sweep.symbols)

    @property
    def count(self) -> str:
        """Which of how many points that is; nothing where there are no axes."""
        return f"{self.point + 1}/{len(self.sweep.points)}" if self.sweep.axes else ""

    @property
    def skipped(self) -> str:
        """What need not be computed, in words; nothing where that is nothing."""
        return "" if self.results is None else skipped(self.results)

    def picture(self, number: int) -> Picture:
        """Picture 1, 2, … of the experiment; 0 is that of the run which is shown."""
        if number:
            return drawn(self.sweep.experiment)[number - 1]
        picture = of_run(self.experiment)
        return msgspec.structs.replace(picture, title=", ".join(filter(None, (picture.title, self.where))))

    def look(
        self,
        number: int = 0,
        options: ChartOptions | None = None,
        pinned: Sequence[tuple[str, View]] = (),
        cursor: float | None = None,
        height: float | None = None,
        ghost: View | None = None,
    ) -> Look:
        """What there is to see of a picture by now, once there is a trace.

        Args:
            pinned: the names of pinned runs, and the same picture of them.

        Raises: BadInput for a picture that these results do not have.
        """
        assert self.trace is not None, "there is nothing to look at"
        picture, whole = self.picture(number), self.results if number else None
        found = self.views.view(picture, whole or of_one(self.experiment, self.trace))
        look = Look(
            view=found,
            point=0 if whole is None else self.point,
            newest=None if whole is None else max(whole.finished, default=None),
            shown=self.x_at(self.shown),
            place=self.x_at(self.place),
            options=options or ChartOptions(),
            cursor=cursor,
            height=height,
            pinned=pinned,
            stopped=self.stopped,
            ghost=ghost,
            guesses={} if number else self.guesses,
            moved=self.playback.moved,
            whole=whole is not None and whole.complete,
        )
        wanted = number, options is None
        if wanted not in self._looks or not look.is_as(self._looks[wanted]):
            self._looks[wanted] = look
        return self._looks[wanted]

    def go_to(self, look: Look) -> bool:
        """Have the run at a place of a picture on the screen, once all runs are over; whether it is another.

        Of several it is the last, but the one on the screen if it is one of these.
        """
        if self.results is None or not self.over:
            return False
        sweep, found = self.results.sweep, look.view
        there = [number for number in self.results.traces if sweep.points[number].is_in(found.picture)]
        if not along_records(found):
            at_x = [number for number in there if found.x_of(number, np.inf) == look.x]
            there = at_x or there
            there = [number for number in there if found.y_of(number) == look.y] or there
        if not there or self.point in there:
            return False
        self._left_beside += self._stop_beside()
        self.measuring = self.looking = None
        self.point = there[-1]
        self.trace = self.results.traces[self.point]
        self._begin_playback(self.experiment)
        self.playback.position = float(self.trace.frontier)
        return True

    def view(self, number: int) -> View | None:
        """A picture of what there is by now; None for one that these results do not have."""
        if self.trace is None:
            return None
        try:
            return self.look(number).view
        except (BadInput, IndexError):
            return None

    def _clock(self) -> None:
        """Count only the time in which the engine is at work on the trace."""
        now = time.perf_counter()
        if self._since is not None:
            self._worked += now - self._since
        self._since = now if self._engine == "running" and self.trace is not None else None

    @property
    def computing(self) -> bool:
        """Whether the engine is at work on the trace."""
        return self._since is not None

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before its end."""
        return self._stopped

    @property
    def state(self) -> str:
        """The state in one word, as a person sees it."""
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
            return "preparing"
        if self.over:
            return "finished"
        return "running" if self.playback.playing else "paused"

    @property
    def ended(self) -> bool:
        """Whether the engine has come to the end of the run, or was stopped before."""
        return self._stopped or self._engine in ("finished", "stopped")

    @property
    def over(self) -> bool:
        """Whether the run has come to its end, and the screen to the end of the run."""
        return self._engine == "finished" and self.trace is not None and self.shown >= self.trace.frontier

    @property
    def shown(self) -> int:
        """Up to which record the screen shows the curves."""
        return self.playback.shown

    @property
    def place(self) -> int:
        """The record at which the playhead stands."""
        return self.playback.place

    def x_at(self, record: int) -> float:
        """Where on the x-axis of the run a record is; 0 where there is no run yet."""
        return 0.0 if self.trace is None else float(self.trace.x[min(record, self.playback.last)])

    def seek(self, x: float, log: bool = False) -> None:
        """Put the playhead to the record nearest to x, on a logarithmic axis by factors."""
        if self.trace is not None:
            grid = self.trace.x
            after = min(int(np.searchsorted(grid, x)), len(grid) - 1)
            before = max(after - 1, 0)
            middle = (grid[before] * grid[after]) ** 0.5 if log else (grid[before] + grid[after]) / 2
            self.playback.seek(before if x < middle else after)

    def go(self, record: int) -> None:
        """Put the playhead to a record."""
        self.playback.seek(record)

    def move(self, records: int) -> None:
        """Move the playhead by so many records, back if negative."""
        self.playback.seek(min(max(self.place + records, 0), self.playback.last))

    def measure(self, learner: str, again: bool = False) -> None:
        """Measure the certificates of a run that has finished, once, that of this learner next.

        One that was stopped is begun anew only if that is requested.
        """
        stopped = self.measuring is not None and self.measuring.stopped
        if (
            (self.measuring is None or (again and stopped))
            and self.outcomes is not None
            and self.trace is not None
        ):
            self.measuring = CertificateWorker(self.experiment, self.trace)
        if self.measuring is not None:
            self.measuring.request(learner)

    def look_inside(self, learner: str, target: int | None) -> None:
        """Train the learners of a run that has finished once more, this one first, for snapshots of them."""
        if self.looking is None and self.outcomes is not None and self.trace is not None:
            self.looking = SnapshotWorker(self.experiment, self.trace, target, learner)

    @property
    def remaining(self) -> str:
        """How long the points of the axes that are left are going to take, in words; nothing if unknown.

        Where some may be skipped it is the longest.
        """
        words = self._remaining.words if self.sweep.axes and self.computing else ""
        return f"at most {words}" if words and any(axis.until for axis in self.sweep.axes) else words

    @property
    def speed(self) -> float:
        """How far the engine comes per second with all learners, on the clock of the x-axis."""
        if self.trace is None:
            return 0.0
        now = 0.0 if self._since is None else time.perf_counter() - self._since
        return self.x_at(max(self.trace.frontier, 0)) / max(self._worked + now, 1e-9)

    @property
    def is_moving(self) -> bool:
        """Whether it changes without a key and without a message of the engine."""
        beside = any(worker is not None and worker.is_at_work for worker in (self.measuring, self.looking))
        if self.trace is None or beside:
            return beside
        is_owed = self._owed > 0 and self.playback.shown < self.trace.frontier
        return self.computing or is_owed or self.playback.is_moving(self.trace.reached)

    def tick(self, seconds: float) -> None:
        """Move the playback on by `seconds`."""
        if self.trace is None:
            return
        if self.sweep.axes and self.results is not None and self.computing:
            self._remaining.see(seconds, *points_done(self.results))
        if self._owed and self.playback.step(self.trace.frontier):
            self._owed -= 1
        replaying = self.playback.replaying
        self.playback.tick(seconds, self.trace.reached)
        if replaying and not self.playback.replaying and not self.playback.playing:
            self.toggle()

    def toggle(self) -> None:
        """Hold what is running, or let it go on; play from the playhead where a person looks back.

        A run that was held goes on once the playhead has come to its end.
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
                self._worker.step()  # to the first record, which a run held that early has not come to

    def step(self) -> None:
        """Hold the run and show one record more, computing it first if need be."""
        if self.playback.looking_back:
            self.move(1)
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
        """End the engine's work, measurements too, and stay where the screen is."""
        self._stop_beside()
        if self._engine != "failed" and not self.over:
            self._worker.stop()
            self._stopped, self.playback.playing = True, False

    def end(self, seconds: float = 0.0) -> bool:
        """End the engine's work; whether its threads ended within `seconds`."""
        self._worker.stop()
        beside = self._left_beside + self._stop_beside()
        return self._worker.join(seconds) and all(one.join(min(seconds, 0.1)) for one in beside)

    def _stop_beside(self) -> list[CertificateWorker | SnapshotWorker]:
        """End what trains beside the run; what was found stays."""
        beside = [one for one in (self.measuring, self.looking) if one is not None]
        for one in beside:
            one.stop()
        return beside


def refusal(event: engine.Event) -> BadInput | None:
    """Why the engine refused the experiment, if that is what the event says."""
    return event.error if isinstance(event, engine.Refused) else None
