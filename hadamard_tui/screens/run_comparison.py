"""Comparison of runs: list, show, pin, rename and delete runs of this session and stored runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input

from engine.core.parts import BadInput
from hadamard_tui.keyboard import key
from hadamard_tui.running.runs import MOST_BYTES, MOST_RUNS, ListedRun
from hadamard_tui.screens.modal import Modal
from hadamard_tui.screens.run_control import RunControl
from hadamard_tui.widgets.controls import Entry
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.side import RunList
from hadamard_tui.widgets.stage import Stage

if TYPE_CHECKING:
    from engine.runtime import worker as engine
    from engine.runtime.store import Store
    from engine.runtime.stored_run import StoredRun
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.running.follower import Silent
    from hadamard_tui.running.playback import Pace
    from hadamard_tui.running.runs import Kept
    from hadamard_tui.running.session import Session


SHOWN_TO_THE_END = ("finished", "stopped", "replaying")
"""States in which a run can be pinned."""

UNPINNED = "In the list of runs ({runs}), {pin} pins or unpins a run."


FIRST = 200
"""Number of newest stored runs that are listed at once, before the older runs are read."""

LONGEST = 24
"""Maximum length of a run's name. The list of runs and the legends repeat the name."""


class RunComparison(RunControl):
    """Screen that lists the runs of this session and the stored runs."""

    def __init__(self, editable: EditableExperiment, pace: Pace) -> None:
        super().__init__(editable, pace)
        self._being_pinned: list[Session] = []
        """Sessions of stored runs that will be pinned as soon as their curves are read."""

    def run_changed(self, session: Session) -> None:
        super().run_changed(session)
        if session.ended and session.trace is not None:
            self.runs.keep(session)
            for run in self.runs.make_room(session.trace):
                if run.session.stored_as is not None:  # the run is stored, so it is still in the list
                    continue
                self.notify(
                    f"{run.name} was dropped, because unpinned runs are limited to {MOST_RUNS} runs and "
                    f"{MOST_BYTES >> 20} MB. {key('pin')} pins a run to keep it."
                )
        self._list_runs()

    def action_pin(self) -> None:
        runs, session = self.query_one(RunList), self.session
        if runs.has_focus_within and (chosen := runs.selected) is not None:
            self._toggle_pin(chosen)
        elif session is None or session.trace is None or session.state not in SHOWN_TO_THE_END:
            self.notify(
                f"Only a run that has finished or was halted can be pinned; {key('run')} runs the set-up."
            )
        elif (run := self.runs.keep(session)).pinned:
            self.notify(f"This run is pinned already. {UNPINNED.format(runs=key('runs'), pin=key('pin'))}")
        else:
            run.pinned = True
            message = f"{run.name} is pinned: the next runs are drawn over it."
            if (before := self.runs.last_but(session.trace)) is not None and not before.pinned:
                message += f" {key('difference')} compares it with {before.name} at once."
            self.notify(f"{message} {UNPINNED.format(runs=key('runs'), pin=key('pin'))}", timeout=10)
            self._list_runs()

    def _toggle_pin(self, run: ListedRun) -> None:
        if run.kept is not None:
            run.kept.pinned = not run.kept.pinned
        elif run.stored is not None and run.stored.fate == "running":
            self.notify(f"{run.name} is still running; {key('choose')} shows it.")
        elif run.stored is not None:
            try:
                session, _ = self.opened(Path(run.stored.path))
            except BadInput as error:
                self._notify_unreadable(error)
                return
            self._being_pinned.append(session)
            session.start()
        self._list_runs()

    def received_beside(self, session: Session, event: engine.Event | Silent) -> None:
        """Handle an event from the reading of a stored run. Pin this run when all its curves are read."""
        from hadamard_tui.running.session import refusal

        if session not in self._being_pinned:
            return
        session.receive(event)
        if error := refusal(event):
            self._notify_unreadable(error)
        if session.ended:
            self._being_pinned.remove(session)
            if session.trace is not None:
                self.runs.keep(session).pinned = True
                self._list_runs()
                self.redraw()

    def _notify_unreadable(self, error: BadInput) -> None:
        self.notify(str(error), title="This run cannot be read", severity="error", timeout=10)
        self._read_stored_runs()

    def say_what_is_pinned(self) -> None:
        if names := ", ".join(run.name for run in self.runs.pinned):
            unpinned = UNPINNED.format(runs=key("runs"), pin=key("pin"))
            self.notify(f"The chart also shows the pinned runs: {names}. {unpinned}", timeout=10)

    def action_difference(self) -> None:
        """Switch between the curves of the run and their differences from the last pinned run.

        If no other run is pinned, pin the previous run first.
        """
        shown = None if self.session is None else self.session.trace
        if not self.chart_options.difference and not self.runs.others(shown):
            before = self.runs.last_but(shown)
            if shown is None or before is None:
                self.notify("There is no other run to compare with. Change one thing and run again.")
                return
            before.pinned = True
            self.notify(
                f"{before.name} is now pinned. The chart shows the differences from its curves. "
                f"{key('runs')} lists the runs."
            )
            self._list_runs()
        self.chart_options = replace(self.chart_options, difference=not self.chart_options.difference)

    def action_runs(self) -> None:
        runs = self.query_one(RunList)
        if not self.has_class("-huge"):
            self.toggle_class("-runs-open")
        if runs.has_focus_within or (not self.has_class("-huge") and not self.has_class("-runs-open")):
            self.set_focus(None)
        else:
            runs.enter()
            self._read_stored_runs()
        self.refresh_bindings()

    def action_filter_runs(self) -> None:
        self.query_one(RunList).filter()

    @work(exclusive=True, group="stored runs")
    async def _read_stored_runs(self) -> None:
        from hadamard_tui.state import run_store

        store = run_store.store()
        if store is None or not store.folder.is_dir():
            return
        for newest in (FIRST, -1):
            runs = await asyncio.to_thread(store.runs, newest)
            if newest == FIRST and len(self.runs.stored) > len(runs) == FIRST:
                continue  # all runs are already listed from an earlier reading
            self.runs.stored = {run.id: run for run in runs}
            self._list_runs()
            if len(runs) < FIRST:
                return

    async def action_another_seed(self) -> None:
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        runs = self.query_one(RunList)
        chosen = runs.selected if runs.has_focus_within else None
        editable = self._editable
        if chosen is not None and chosen.kept is not None:
            editable = EditableExperiment(chosen.kept.document, chosen.kept.preset)
        elif chosen is not None and chosen.stored is not None:
            try:
                _, editable = self.opened(Path(chosen.stored.path))
            except BadInput as error:
                self._notify_unreadable(error)
                return
        if editable.error is None:
            run = editable.experiment.run
            editable.put("run.seed", run.seed + run.replicas)
            await self._replace_setup(editable)
        self._begin_run()

    def action_rename_run(self) -> None:

        if (run := self._chosen_run) is not None:
            self.app.push_screen(Renaming(run.name), lambda name: self._rename_run(run, name))

    def _rename_run(self, run: ListedRun, new_name: str | None) -> None:
        if new_name and run.kept is not None:
            run.kept.name, run.kept.renamed = new_name, True
        store, stored = self._store_and_entry(run)
        if new_name and store is not None and stored is not None:
            with suppress(BadInput):
                store.mark(stored, name=new_name)
            self._update_stored_run(stored.id)
        self._list_runs()

    def _store_and_entry(self, run: ListedRun) -> tuple[Store | None, StoredRun | None]:
        """Return the store, and the run's entry in it.

        Both are None if the run was never stored. The entry is None if the run is no longer in the store.
        """
        from hadamard_tui.state import run_store

        name = run.stored.id if run.stored is not None else run.kept and run.kept.session.stored_as
        store = run_store.store() if name else None
        return store, None if store is None or not name else store.run(name)

    def _conclude_run(self, session: Session, run: str) -> None:
        super()._conclude_run(session, run)
        self._update_stored_run(run)

    def _update_stored_run(self, name: str) -> None:
        from hadamard_tui.state import run_store

        if self.runs.stored and (store := run_store.store()) is not None and (run := store.run(name)):
            self.runs.stored = {**self.runs.stored, name: run}
            self._list_runs()

    def action_delete_run(self) -> None:
        if self.runs.finished and not self.query_one(RunList).has_focus_within:
            self.notify(f"Runs are deleted in the list of runs; {key('runs')} opens the list.")
        elif (run := self._chosen_run) is not None:
            store, stored = self._store_and_entry(run)
            if store is not None and stored is not None:
                try:
                    store.set_aside(stored)
                except BadInput as error:
                    self.notify(str(error), severity="warning")
                    return
            self.runs.remove(ListedRun(run.kept, stored))
            self.notify(
                f"{run.name} is deleted; {key('undo')} in the list brings it back until the app ends."
            )
            self._list_runs()

    def _restore_deleted_run(self) -> None:
        from hadamard_tui.state import run_store

        run = self.runs.deleted[-1]
        if run.stored is not None and (store := run_store.store()) is not None:
            try:
                store.bring_back(run.stored)
            except BadInput as error:
                self.notify(str(error), severity="error")
                return
        self.runs.bring_back()
        self.notify(f"{run.name} is back.")
        self._list_runs()

    async def action_undo(self) -> None:
        if self.query_one(RunList).has_focus_within and self.runs.deleted:
            self._restore_deleted_run()
        else:
            await self._restore_setup(self.query_one(SetupPane).undo)

    async def action_redo(self) -> None:
        await self._restore_setup(self.query_one(SetupPane).redo)

    async def _restore_setup(self, change: Callable[[], Awaitable[None]]) -> None:
        """Undo or redo a change of the set-up by `change`, and show curves of the restored set-up.

        If the run on the screen belongs to the set-up before this step, a finished run of the restored set-up
        replaces it. If there is no such run, stored curves of the restored preset replace it. If there are
        none either, the run stays, and the progress display says that the set-up has changed.
        """
        from hadamard_tui.running.stored import stored_of

        is_of_set_up = self.session is not None and self.session.document == self._editable.document
        await change()
        restored = self.query_one(SetupPane).editable
        document = restored.document
        if not is_of_set_up or self.session is None or self.session.document == document:
            return
        run = next((run for run in reversed(self.runs.finished) if run.document == document), None)
        if run is not None:
            self._show_finished(run)
        elif stored_of(restored) is not None:
            self.call_later(self._clear_run)  # after this screen has received the restored set-up

    def end(self, seconds: float) -> bool:
        """Stop the engine, and remove the files of deleted runs.

        Return whether the engine's threads ended within `seconds`.
        """
        from hadamard_tui.state import run_store

        stored = [run.stored for run in self.runs.deleted if run.stored is not None]
        if stored and (store := run_store.store()) is not None:
            for run in stored:
                store.discard(run)
        for session in self._being_pinned:
            session.end()
        return super().end(seconds)

    @on(RunList.Chosen)
    async def _run_chosen(self, event: RunList.Chosen) -> None:
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        run = event.run.kept
        if run is None and event.run.stored is not None:
            try:
                await self.follow(Path(event.run.stored.path))
            except BadInput as error:
                self._notify_unreadable(error)
            else:
                self.notify(f"This is {event.run.name}; {key('run')} runs its set-up again.")
        if run is None or run not in self.runs.finished:
            return
        editable = EditableExperiment(run.document, run.preset)
        editable.call(run.session.letters)
        await self._replace_setup(editable)
        self._show_finished(run)
        self.notify(f"This is {run.name}; {key('run')} runs its set-up again.")

    def _show_finished(self, run: Kept) -> None:
        from engine.spec.experiment import drawn

        if self.session is run.session:
            return
        if self.session is not None:
            self.session.end()
        self.session, self.ghost = run.session, None
        self.query_one(Stage).offer_pictures(drawn(run.session.sweep.experiment))
        self.run_changed(run.session)

    @property
    def _chosen_run(self) -> ListedRun | None:
        run = self.query_one(RunList).selected
        if run is None:
            self.notify(
                f"No run has ended yet; {key('run')} runs the set-up, and {key('runs')} lists stored runs."
            )
        return run

    def _list_runs(self) -> None:
        session = self.session
        trace = None if session is None else session.trace
        alone = session is None or trace is None or self.runs.holds(trace)
        is_beside = session is None or session.is_followed or (trace is not None and self.runs.holds(trace))
        running = None if is_beside or session is None else session.stored_as
        self.query_one(RunList).show(None if alone or session is None else session.document, trace, running)

    @property
    def _is_runs_drawer_open(self) -> bool:
        return self.has_class("-runs-open") and not self.has_class("-huge")


class Renaming(Modal[str | None]):
    """Page with an input line for the new name of a run. Enter confirms it; escape keeps the old name."""

    DEFAULT_CSS = """
    Renaming { align: center middle; }
    Renaming Input { width: 40; max-width: 90%; border: round $primary; background: $surface; }
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._former = name

    def compose(self) -> ComposeResult:
        field = Entry(self._former, max_length=LONGEST)
        field.border_title = f"{self._former} is called"
        yield field

    @on(Input.Submitted)
    def _name_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(" ".join(event.value.split()) or None)
