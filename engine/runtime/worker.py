"""Worker: background thread of a run, which the app can start, pause, step and stop."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.core.lazy import load_torch
from engine.core.parts import BadInput
from engine.planning import memory_estimate
from engine.results.trace import Trace
from engine.runtime.run import Loaded, Pacing
from engine.runtime.run_writer import RunWriter
from engine.runtime.spreading import Begin
from engine.runtime.sweep_run import Event as RunEvent
from engine.runtime.sweep_run import load_torch_for, run_sweep
from engine.spec.sweep import Sweep

State = Literal["idle", "waiting", "loading", "running", "paused", "finished", "stopped", "failed"]

ROUND_SECONDS = 0.05
"""Maximum seconds of a round of the run, so that pause and stop take effect quickly."""

SECONDS_BEFORE_TORCH = 1.0
"""Seconds from the end of a run until its thread loads torch, if the run has not loaded torch.

Loading is slow, and the app first draws the curves.
"""


@dataclass(frozen=True)
class Changed:
    """Event: the worker changed its state."""

    state: State


@dataclass(frozen=True)
class Refused:
    """Event: the experiment cannot be run here."""

    error: BadInput


@dataclass(frozen=True)
class Failed:
    """Event: the run failed. `traceback` is the text of the traceback, with the exception."""

    traceback: str


Event: TypeAlias = RunEvent | Changed | Refused | Failed


class Worker:
    """Background thread that runs a sweep. It sends events about state changes, but not about single steps.

    `notify` is called from the thread. A worker runs once; a new run needs a new worker. Workers that share
    the lock `turn` work one after another. Otherwise, they could overlap, because a stopped worker may still
    draw data or learn an example before it ends.
    """

    def __init__(
        self,
        sweep: Sweep,
        notify: Callable[[Event], None],
        threads: int | None = None,
        writer: RunWriter | None = None,
        turn: threading.Lock | None = None,
        devices: Sequence[Begin] = (),
    ) -> None:
        self._sweep, self._notify, self._threads, self._writer = sweep, notify, threads, writer
        self._turn, self._devices = turn or threading.Lock(), devices
        self._change = threading.Condition()
        self._paused = False
        self._stopped = False
        self._steps = 0
        self._trace: Trace | None = None
        self._reached = -1
        """`Trace.frontier` when the run last called `_allowed_records`; −1 for a new trace."""
        self._pacing = Pacing(ROUND_SECONDS)
        self._thread = threading.Thread(target=self._run_in_turn, name="engine", daemon=True)

    def start(self, paused: bool = False) -> None:
        """Start the thread. A run that is started paused stops after its first evaluation point."""
        # One step: a run started paused must show its first record.
        self._paused = paused
        self._steps = 1 if paused else 0
        self._thread.start()

    def pause(self) -> None:
        """Pause the run after the current round."""
        with self._change:
            self._paused = True

    def resume(self) -> None:
        """Resume a paused run, and drop pending steps."""
        with self._change:
            self._paused, self._steps = False, 0
            self._change.notify()

    def step(self) -> None:
        """Let a paused run compute one more record (evaluation) for every learner."""
        with self._change:
            self._steps += 1
            self._change.notify()

    def stop(self) -> None:
        """End the run after the current round; the curves so far stay."""
        with self._change:
            self._stopped = True
            self._change.notify()

    def join(self, seconds: float) -> bool:
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _receive_event(self, event: RunEvent) -> None:
        if isinstance(event, Loaded):
            with self._change:
                self._end_step()
                self._trace, self._reached = event.trace, -1
        self._notify(event)

    def _allowed_records(self) -> int:
        with self._change:
            self._end_step()
            if self._paused and not self._steps and not self._stopped:
                self._notify(Changed("paused"))
                self._change.wait_for(lambda: not self._paused or self._steps or self._stopped)
                if not self._stopped:
                    self._notify(Changed("running"))
                self._pacing.rest()
            if self._stopped:
                return 0
            if self._paused:
                return 1
        return self._pacing.records()

    def _end_step(self) -> None:
        """Pause again once every learner has one more evaluation point. A step may take many rounds."""
        reached = -1 if self._trace is None else self._trace.frontier
        if reached > self._reached and self._steps > 0:
            self._steps -= 1
        self._reached = reached

    def _run_in_turn(self) -> None:
        waited = self._turn.locked()
        if waited:
            self._notify(Changed("waiting"))
        with self._turn:
            if waited and self._stopped:
                self._notify(Changed("stopped"))
            else:
                self._run_sweep()
        with self._change:
            stopped = self._change.wait_for(lambda: self._stopped, SECONDS_BEFORE_TORCH)
        if not stopped:  # the next view or run may need torch: load it in the background
            load_torch(self._threads)

    def _run_sweep(self) -> None:
        try:
            self._notify(Changed("loading"))
            load_torch_for(self._sweep, self._threads)
            self._notify(Changed("running"))
            run_sweep(
                self._sweep,
                self._allowed_records,
                self._receive_event,
                self._writer,
                ROUND_SECONDS,
                lambda: self._stopped,
                self._devices,
            )
            self._notify(Changed("stopped" if self._stopped else "finished"))
        except BadInput as error:
            self._notify(Refused(error))
            self._notify(Changed("failed"))
        except Exception:
            self._notify(Failed(traceback.format_exc()))
            self._notify(Changed("failed"))
        finally:
            memory_estimate.give_back()
