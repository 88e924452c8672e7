"""Comparing runs: pinned, listed, renamed, deleted, and run again with other seeds."""

from __future__ import annotations

from textual import on

from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard.keymap import key
from hadamard_tui.running.runs import Kept
from hadamard_tui.running.session import Session
from hadamard_tui.screens.renaming import Renaming
from hadamard_tui.screens.running import Running
from hadamard_tui.widgets.side import RunList


class Comparing(Running):
    """Keeps runs, and the list of them."""

    def run_changed(self, session: Session) -> None:
        super().run_changed(session)
        self._list_runs()

    def action_pin(self) -> None:
        session = self.session
        if (
            session is None
            or session.trace is None
            or session.state not in ("finished", "stopped", "replaying")
        ):
            self.notify(f"A run is pinned once it has finished or was halted; {key('run')} runs the set-up.")
        elif self.runs.holds(session.trace):
            self.notify("This run is pinned already; change one thing and run again.")
        else:
            assert session.results is not None, "a sweep begins before its first run"
            run = self.runs.pin(
                session.document,
                session.experiment,
                session.trace,
                session.results,
                session.preset,
                session.letters,
            )
            self.notify(
                f"Pinned as {run.name}; change one thing and run again. {key('runs')} lists the runs."
            )
            self._list_runs()

    def action_runs(self) -> None:
        runs = self.query_one(RunList)
        if not self.has_class("-huge"):
            self.toggle_class("-runs-open")
        if runs.has_focus_within or (not self.has_class("-huge") and not self.has_class("-runs-open")):
            self.set_focus(None)
        else:
            runs.enter()
        self.refresh_bindings()

    async def action_another_seed(self) -> None:
        runs = self.query_one(RunList)
        chosen = runs.selected if runs.has_focus_within else None
        editable = self._editable if chosen is None else EditableExperiment(chosen.document, chosen.preset)
        if editable.error is None:
            run = editable.experiment.run
            editable.put("run.seed", run.seed + run.replicas)
            await self._take(editable)
        self._begin()

    def action_rename_run(self) -> None:
        if (run := self._chosen_run) is not None:
            self.app.push_screen(Renaming(run.name), lambda name: self._renamed(run, name))

    def _renamed(self, run: Kept, name: str | None) -> None:
        run.name = name or run.name
        self._list_runs()

    def action_delete_run(self) -> None:
        if self.runs.kept and not self.query_one(RunList).has_focus_within:
            self.notify(f"Runs are deleted in their list; {key('runs')} opens it.")
        elif (run := self._chosen_run) is not None:
            self.runs.remove(run)
            self.notify(f"{run.name} is deleted.")
            self._list_runs()

    @on(RunList.Chosen)
    async def _run_chosen(self, event: RunList.Chosen) -> None:
        await self._take(EditableExperiment(event.run.document, event.run.preset))
        self.notify(f"This is the set-up of {event.run.name}; {key('run')} runs it.")

    @property
    def _chosen_run(self) -> Kept | None:
        run = self.query_one(RunList).selected
        if run is None:
            self.notify(f"No run is pinned; {key('pin')} pins the one on the screen.")
        return run

    def _list_runs(self) -> None:
        session = self.session
        alone = session is None or session.trace is None or self.runs.holds(session.trace)
        self.query_one(RunList).show(None if alone or session is None else session.document)

    @property
    def _runs_drawer_open(self) -> bool:
        return self.has_class("-runs-open") and not self.has_class("-huge")
