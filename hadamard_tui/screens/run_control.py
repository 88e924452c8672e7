"""Control of the run on the screen: start, pause, step, stop and discard it, and handle its events.

The engine is imported only when a run begins, because the first paint does not need it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.screen import Screen
from textual.types import NoActiveAppError

from engine.core.parts import BadInput
from engine.pictures.view import DIVERGED, WHY_INACCURATE
from hadamard_tui.charts.plots.look import ChartOptions
from hadamard_tui.keyboard import key
from hadamard_tui.running.runs import Runs
from hadamard_tui.terminal.textual_internals import forget_drawn_widgets
from hadamard_tui.terminal.timing import call_after
from hadamard_tui.widgets.setup import SetupPane

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engine.results.trace import Curve, Trace
    from engine.runtime import worker as engine
    from engine.runtime.run import Diverged
    from engine.runtime.spreading import Begin
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.running.follower import Silent
    from hadamard_tui.running.playback import Pace
    from hadamard_tui.running.session import Session


REST = 0.1
"""Minimum seconds between two runs while the user increases or decreases a number by a key."""


class EngineSpoke(Message):
    """Message that carries an event from the engine's thread to the screen."""

    def __init__(self, session: Session, event: engine.Event | Silent) -> None:
        super().__init__()
        self.session, self.event = session, event


class RunControl(Screen[None]):
    """Screen that runs the experiment of the set-up."""

    def __init__(self, editable: EditableExperiment, pace: Pace) -> None:
        super().__init__()
        self._editable, self._pace = editable, pace
        self.session: Session | None = None
        self.runs = Runs()

        self.devices: Sequence[Begin] = ()
        """Devices to which runs are spread; without any, this process computes every run."""

        self._turn = threading.Lock()
        self.ghost: Session | None = None
        """Previous run, which is drawn faintly while the user increases or decreases a number by a key."""

        self.chart_options = ChartOptions()
        self._resting: asyncio.TimerHandle | None = None
        self._wanted = False

    @property
    def editable(self) -> EditableExperiment:
        return self._editable

    @property
    def _trace(self) -> Trace | None:
        return None if self.session is None else self.session.trace

    def _selected_curve(self, trace: Trace) -> Curve:
        """Return the curve of the selected learner.

        A run of an earlier set-up may lack this learner. Then the result is the curve of the nearest learner
        in the list.
        """
        names = [curve.learner for curve in trace.curves]
        nearest = sorted(
            enumerate(self._editable.learners), key=lambda learner: abs(learner[0] - self._selected_index)
        )
        return trace.curves[
            next((names.index(learner["name"]) for _, learner in nearest if learner["name"] in names), 0)
        ]

    @property
    def _selected_index(self) -> int:
        """Index of the selected learner, or of the last learner if the set-up now has fewer learners."""
        return min(self.query_one(SetupPane).learner, len(self._editable.learners) - 1)

    def _select_learner(self, number: int) -> None:
        self.query_one(SetupPane).pick(number)

    def show_set_up(self) -> None:
        """Show a preview of the set-up while no run is on the screen."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw the run on the screen again, or the preview of the set-up if there is no run."""
        raise NotImplementedError

    def run_changed(self, session: Session) -> None:
        """Handle a change of the run's state. Subclasses extend it."""

    def received_beside(self, session: Session, event: engine.Event | Silent) -> None:
        """Handle an event of a run that is not on the screen. Subclasses extend it."""

    def run_begun(self, at_once: bool) -> None:
        """Handle the start of a run. Subclasses extend it.

        Args:
            at_once: whether the user started the run with a key that changes a number.
        """

    def action_run(self) -> None:
        self._begin_run()

    def action_pause(self) -> None:
        if self.session is None:
            self._begin_run()
        else:
            self.session.toggle()
            self._notify_if_stopped(self.session)

    def action_step(self) -> None:
        if self.session is None:
            self._begin_run(paused=True)
        else:
            self.session.step()
            self._notify_if_stopped(self.session)

    def action_halt(self) -> None:
        if self.session is not None:
            self.session.stop()

    def action_reset(self) -> None:
        self._editable.give_letters()
        self.query_one(SetupPane).show_list()
        self._clear_run()

    def action_faster(self) -> None:
        self._pace.change(2)

    def action_slower(self) -> None:
        self._pace.change(1 / 2)

    def action_unlimited(self) -> None:
        self._pace.unlimited = not self._pace.unlimited

    @on(SetupPane.Stepped)
    def _number_stepped(self) -> None:
        self._run_after_steps()

    def _run_after_steps(self) -> None:
        """Run the set-up, but at most once in REST seconds.

        An earlier call is delayed until REST seconds after the last run has started.
        """
        if self._resting is not None:
            self._wanted = True
            return
        if self._editable.error is None:
            self._begin_run(at_once=True)
        self._resting = call_after(REST, self, self._run_if_wanted)

    def _run_if_wanted(self) -> None:
        self._resting = None
        if self._wanted:
            self._wanted = False
            self._run_after_steps()

    def _begin_run(self, paused: bool = False, at_once: bool = False) -> None:
        """Run the set-up.

        With `at_once`, the previous run remains visible as faint curves, and the new run is not stored.
        """
        from engine.runtime.run_writer import RunWriter
        from hadamard_tui.running.session import Session
        from hadamard_tui.state import run_store

        if self.refused():
            return
        if not at_once:
            self._clear_run()
        elif self.session is not None:
            self.session.end()
            self.ghost = self.session if self.session.trace is not None else self.ghost
        forget_drawn_widgets()
        spare = max(1, (os.cpu_count() or 2) - 1)
        editable, setup = self._editable, self.query_one(SetupPane)
        fitted = dict(editable.left_out)
        try:
            sweep = editable.sweep()
        except BadInput as error:
            setup.show_list()
            setup.complain(editable.error)
            self.notify(str(error), title="This set-up cannot run", severity="error", timeout=10)
            return
        if editable.left_out != fitted:
            setup.show_list()
        left_out, store = list(editable.left_out.values()), run_store.store()
        writer = None
        if store is not None and not at_once:
            writer = RunWriter(store, editable.document, editable.preset, with_weights=not sweep.axes)
        self.session = Session(
            sweep,
            editable.document,
            self._post_event,
            spare,
            self._pace,
            editable.preset,
            self._turn,
            left_out,
            editable.running_letters,
            at_once,
            writer,
            devices=() if at_once else self.devices,
        )
        self.session.start(paused)
        self.run_begun(at_once)

    def refused(self) -> bool:
        if (error := self._editable.error) is not None:
            self.notify(str(error), title="This set-up cannot run", severity="error")
        return error is not None

    def _notify_if_stopped(self, session: Session) -> None:
        if session.state == "stopped" and not session.playback.looking_back:
            run = key("run")
            self.notify(f"This run was stopped and cannot go on; {run} runs the set-up from the start.")

    def _post_event(self, session: Session, event: engine.Event | Silent) -> None:
        """Post an event of a run to the screen.

        The engine's thread calls this, even after the app has ended.
        """
        with suppress(NoActiveAppError):
            self.post_message(EngineSpoke(session, event))

    @on(EngineSpoke)
    def _engine_spoke(self, message: EngineSpoke) -> None:
        from engine.runtime import worker as engine
        from engine.runtime.run import Diverged, NotKept
        from engine.runtime.sweep_run import Removed, Stored
        from hadamard_tui.running.follower import Silent
        from hadamard_tui.running.session import refusal
        from hadamard_tui.state import run_store

        if message.session is not self.session:
            self.received_beside(message.session, message.event)
            return
        message.session.receive(message.event)
        if error := refusal(message.event):
            self.query_one(SetupPane).complain(error)
            self.notify(str(error), title="This set-up cannot run", severity="error", timeout=10)
        match message.event:
            case Diverged() as diverged:
                self.notify(divergence_message(diverged, message.session), severity="warning")
            case NotKept(why):
                self.notify(why, title="The run cannot be stored", severity="warning", timeout=10)
            case Silent(why):
                self.notify(why, severity="warning", timeout=10)
            case Stored(run):
                self._conclude_run(message.session, run)
            case Removed(runs):
                self.notify(run_store.removed_in_words(runs), timeout=10)
            case engine.Failed(traceback):
                from hadamard_tui.screens.modal import Failure

                self.app.push_screen(Failure(traceback))
        self.run_changed(message.session)

    def _conclude_run(self, session: Session, run: str) -> None:
        from engine.runtime.conclusion import conclude
        from hadamard_tui.state import run_store

        store, point = run_store.store(), session.point
        if store is not None and point.results is not None and session.outcomes is not None:
            conclude(store, run, point.results, session.outcomes)

    async def follow(self, path: Path) -> None:
        """Show a stored run, and follow it if another process is still computing it. Raises: BadInput."""
        session, editable = self.opened(path)
        await self._replace_setup(editable)
        self._clear_run()
        forget_drawn_widgets()
        self.session = session
        self.session.start()
        self.run_begun(at_once=False)

    def opened(self, path: Path) -> tuple[Session, EditableExperiment]:
        """Return a session for a stored run, and the run's set-up. Raises: BadInput.

        Once started, the session reads the run's curves.
        """
        from engine.runtime.run_reader import RunReader
        from engine.spec import documents
        from hadamard_tui.editing.editable_experiment import EditableExperiment
        from hadamard_tui.running.session import Session

        reader = RunReader(path)
        document = documents.in_full(reader.run.document, reader.sweep.experiment)
        editable = EditableExperiment(document, reader.run.preset)
        session = Session(
            reader.sweep,
            document,
            self._post_event,
            1,
            self._pace,
            reader.run.preset,
            letters=editable.running_letters,
            at_once=True,
            follow=reader,
        )
        return session, editable

    def hand_over(self) -> None:
        """Start a separate process that finishes the run on the screen, because the terminal is lost."""
        from engine.runtime.spreading import PLACE
        from hadamard_tui.headless import detaching
        from hadamard_tui.state import run_store

        session, store = self.session, run_store.store()
        if session is None or session.ended or session.is_followed or store is None:
            return
        if session.stored_as is not None and (run := store.run(session.stored_as)) is not None:
            session.end()
            with suppress(BadInput):
                detaching.detach([run.path, *([f"--on={PLACE}"] if session.is_spread else [])], run.id)

    def _clear_run(self) -> None:
        """Stop the run on the screen, and show a preview of the set-up in its place."""
        if self.session is not None:
            self.session.end()
        self.session = self.ghost = None
        self.show_set_up()

    def end(self, seconds: float) -> bool:
        """Stop the engine, and return whether its threads ended within `seconds`."""
        return self.session is None or self.session.end(seconds)

    async def present(self, editable: EditableExperiment, run: bool = True) -> None:
        await self._replace_setup(editable)
        if run:
            self._begin_run()
        else:
            self._clear_run()

    async def _replace_setup(self, editable: EditableExperiment) -> None:
        """Make another experiment the set-up, and select its first learner.

        If the set-up is made from the same preset as before, the selected learner keeps its position.
        """
        is_same = editable.preset == self._editable.preset
        selected = min(self._selected_index, len(editable.learners) - 1) if is_same else 0
        self._editable = editable
        await self.query_one(SetupPane).show(editable)
        self._select_learner(selected)


def divergence_message(diverged: Diverged, session: Session) -> str:
    experiment = session.experiment
    who, where = diverged.learner, f"at {experiment.protocol.clock} = {diverged.x:g}"
    if session.point.label:
        where += f", {session.point.label}"
    continuation = "; the other learners go on" if len(experiment.learners) > 1 else ""
    why = "" if diverged.fate == DIVERGED else f". Accuracy: {WHY_INACCURATE}"
    if diverged.total == 1:
        return f"{who} {diverged.fate} {where}{continuation}{why}."
    if diverged.replicas == diverged.total:
        extent = f"in all {diverged.total} replicas, in the last one {where}"
        return f"{who} {diverged.fate} {extent}{continuation}{why}."
    replicas = f"{diverged.replicas} of {diverged.total} replicas"
    return f"{who} {diverged.fate} in {replicas} {where}; the other replicas go on{why}."
