"""Comparison of runs: keep, list, pin, rename and delete runs, and repeat them with other seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from hadamard_tui.keyboard import key
from hadamard_tui.running.runs import MOST_BYTES, MOST_RUNS, Kept
from hadamard_tui.screens.modal import Modal
from hadamard_tui.screens.run_control import RunControl
from hadamard_tui.widgets.controls import Entry
from hadamard_tui.widgets.side import RunList
from hadamard_tui.widgets.stage import Stage

if TYPE_CHECKING:
    from hadamard_tui.running.session import Session


SHOWN_TO_THE_END = ("finished", "stopped", "replaying")
"""States in which a run can be pinned."""

UNPINNED = "{runs}, then {pin} on a run pins it or unpins it."


LONGEST = 24
"""Maximum length of a run's name, as the list of runs and legends repeat it."""


class RunComparison(RunControl):
    """Screen that keeps finished runs and lists them."""

    def run_changed(self, session: Session) -> None:
        super().run_changed(session)
        if session.ended and session.trace is not None:
            self.runs.keep(session)
            for run in self.runs.make_room(session.trace):
                reason = f"{run.name} was dropped: {MOST_RUNS} runs beside the pinned ones are kept, and"
                self.notify(f"{reason} {MOST_BYTES >> 20} MB. {key('pin')} pins runs to keep.")
        self._list_runs()

    def action_pin(self) -> None:
        runs, session = self.query_one(RunList), self.session
        if runs.has_focus_within and (chosen := runs.selected) is not None:
            chosen.pinned = not chosen.pinned
            self._list_runs()
        elif session is None or session.trace is None or session.state not in SHOWN_TO_THE_END:
            self.notify(f"A run is pinned once it has finished or was halted; {key('run')} runs the set-up.")
        elif (run := self.runs.keep(session)).pinned:
            self.notify(f"This run is pinned already. {UNPINNED.format(runs=key('runs'), pin=key('pin'))}")
        else:
            run.pinned = True
            message = f"{run.name} is pinned: the next runs are drawn over it."
            if (before := self.runs.last_but(session.trace)) is not None and not before.pinned:
                message += f" To compare it with {before.name} at once: {key('difference')}."
            self.notify(f"{message} {UNPINNED.format(runs=key('runs'), pin=key('pin'))}", timeout=10)
            self._list_runs()

    def say_what_is_pinned(self) -> None:
        """Notify that pinned runs remain visible with a new preset, and how to unpin them."""
        if names := ", ".join(run.name for run in self.runs.pinned):
            unpinned = UNPINNED.format(runs=key("runs"), pin=key("pin"))
            self.notify(f"Pinned runs are drawn with this preset, too: {names}. {unpinned}", timeout=10)

    def action_difference(self) -> None:
        """Draw the run minus the pinned run; if no run is pinned, pin the previous run first."""
        shown = None if self.session is None else self.session.trace
        if not self.chart_options.difference and not self.runs.others(shown):
            before = self.runs.last_but(shown)
            if shown is None or before is None:
                self.notify("There is no other run to compare with: change one thing and run again.")
                return
            before.pinned = True
            self.notify(
                f"Curves minus those of {before.name}, which is now pinned; {key('runs')} lists the runs."
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
        self.refresh_bindings()

    async def action_another_seed(self) -> None:
        from hadamard_tui.editing.editable_experiment import EditableExperiment

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

    def _renamed(self, run: Kept, new_name: str | None) -> None:
        if new_name:
            run.name, run.renamed = new_name, True
        self._list_runs()

    def action_delete_run(self) -> None:
        if self.runs.finished and not self.query_one(RunList).has_focus_within:
            self.notify(f"Runs are deleted in their list; {key('runs')} opens it.")
        elif (run := self._chosen_run) is not None:
            self.runs.remove(run)
            self.notify(f"{run.name} is deleted.")
            self._list_runs()

    @on(RunList.Chosen)
    async def _run_chosen(self, event: RunList.Chosen) -> None:
        """Show a kept run again, with its set-up and curves."""
        from engine.spec.experiment import drawn
        from hadamard_tui.editing.editable_experiment import EditableExperiment

        run = event.run
        editable = EditableExperiment(run.document, run.preset)
        editable.call(run.session.letters)
        await self._take(editable)
        if self.session is not run.session:
            if self.session is not None:
                self.session.end()
            self.session, self.ghost = run.session, None
            self.query_one(Stage).offer_pictures(drawn(run.session.sweep.experiment))
            self.run_changed(run.session)
        self.notify(f"This is {run.name}; {key('run')} runs its set-up again.")

    @property
    def _chosen_run(self) -> Kept | None:
        run = self.query_one(RunList).selected
        if run is None:
            self.notify(f"No run has ended yet; {key('run')} runs the set-up.")
        return run

    def _list_runs(self) -> None:
        session = self.session
        trace = None if session is None else session.trace
        alone = session is None or trace is None or self.runs.holds(trace)
        self.query_one(RunList).show(None if alone or session is None else session.document, trace)

    @property
    def _runs_drawer_open(self) -> bool:
        return self.has_class("-runs-open") and not self.has_class("-huge")


class Renaming(Modal[str | None]):
    """Page with one input line: enter confirms the new name, escape keeps the old one."""

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
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(" ".join(event.value.split()) or None)
