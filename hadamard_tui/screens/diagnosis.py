"""Page that measures which inductive bias a table rewards, with settings, progress and answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Input, Static

from engine.core.parts import BadInput
from engine.core.stopping import Stopped
from hadamard_tui.keyboard import key
from hadamard_tui.running.progress import Remaining
from hadamard_tui.screens.modal import Framed
from hadamard_tui.terminal.timing import call_after
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.controls import Choice, Entry, Small, Words, compact

if TYPE_CHECKING:
    from engine.diagnosis.diagnosing import Diagnosis, DiagnosisJob
    from engine.diagnosis.labelled_table import LabelledTable
    from engine.diagnosis.plan import Plan
    from engine.problems.data_files import TableSettings
    from hadamard_tui.browsing.table_experiment import Kind

KINDS: dict[str, Kind | None] = {"detect": None, "classes": "classes", "numbers": "numbers"}
POLL_SECONDS = 0.25
MOST_SPLITS, MOST_SEED = 100, 2**31 - 1
BAR = 30
"""Width of the progress bar in cells."""


class DiagnosisPage(Framed[None]):
    """Page that diagnoses a table: it measures whether the columns of the table carry meaning.

    Closing the page stops the diagnosis.
    """

    AUTO_FOCUS = "#start"
    DEFAULT_CSS = """
    DiagnosisPage > Vertical { width: 100%; max-width: 132; height: 100%; }
    DiagnosisPage Horizontal { height: 1; }
    DiagnosisPage Horizontal Static { width: auto; margin: 0 1 0 0; color: $text-muted; }
    DiagnosisPage Choice { width: 12; margin: 0 2 0 0; }
    DiagnosisPage #splits, DiagnosisPage #seed { width: 8; margin: 0 2 0 0; }
    DiagnosisPage Small { min-width: 12; margin: 0 2 0 0; }
    DiagnosisPage #stop { display: none; }
    DiagnosisPage.-running #stop { display: block; }
    DiagnosisPage.-running #start { display: none; }
    DiagnosisPage #status { height: auto; max-height: 4; margin: 1 0 0 0; }
    DiagnosisPage #status.-wrong { color: $text-error; }
    DiagnosisPage #answer { height: 1fr; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
    DiagnosisPage #answer Static { height: auto; margin: 0 1 1 0; }
    DiagnosisPage #answer ChartView { height: 16; margin: 0 1 1 0; }
    """

    def __init__(
        self,
        path: str,
        label: int | str | None,
        kind: Kind | None = None,
        settings: TableSettings | None = None,
        omitted: Sequence[int | str] = (),
    ) -> None:
        """Set up the diagnosis of the file at `path`.

        Args:
            label: column of labels; None for file formats that mark the labels themselves.
            settings: how to read the file; if it is None, the content decides.
            omitted: columns to leave out.
        """
        super().__init__()
        self._settings, self._omitted = settings, omitted
        self._path, self._label, self._kind = path, label, kind
        self._table: LabelledTable | None = None
        self._job: DiagnosisJob | None = None
        self._remaining = Remaining()
        self._looked = 0.0
        self._next_look: asyncio.TimerHandle | None = None

    def compose(self) -> ComposeResult:
        kind = next(words for words, kind in KINDS.items() if kind == self._kind)
        with Vertical() as page:
            page.border_title = Text(f"Which inductive bias does {self._path.rpartition('/')[2]} reward?")
            page.border_subtitle = f"{key('move-page-down')} reads on · {key('close')} stops and closes"
            with Horizontal():
                yield Static("labels are")
                yield Choice([(words, words) for words in KINDS], value=kind, id="kind")
                yield Static("splits")
                yield compact(Entry("12", id="splits"))
                yield Static("seed")
                yield compact(Entry("0", id="seed"))
            with Horizontal():
                yield Small("start", tooltip="Fit all learners on all splits", id="start")
                yield Small("stop", tooltip="Stop the diagnosis, and discard its results", id="stop")
                yield compact(Checkbox("only L1, L2, trees and RBF", id="quick"))
            yield Static("", id="status", markup=False)
            yield Words(id="answer")

    def on_mount(self) -> None:
        self._announce_plan()

    def on_unmount(self) -> None:
        self._stop_job()

    @on(Choice.Changed)
    @on(Checkbox.Changed)
    @on(Input.Submitted)
    def _settings_changed(self) -> None:
        if self._job is None:
            self._announce_plan()

    @work(exclusive=True)
    async def _announce_plan(self) -> None:
        with suppress(NoMatches):  # the page may have been closed
            await self._show_plan()

    async def _show_plan(self) -> Plan | None:
        """Show the plan of the diagnosis in words, and return it.

        If the table cannot be read or a number is invalid, show the error and return None.
        """
        from engine.diagnosis.plan import plan_of
        from engine.diagnosis.table_reading import read_table
        from hadamard_tui.headless.diagnosis_text import announcement

        self._show_status(f"reading {self._path.rpartition('/')[2]} …")
        try:
            splits, seed = (
                self._typed_number("splits", 2, MOST_SPLITS),
                self._typed_number("seed", 0, MOST_SEED),
            )
            kind = KINDS[self.query_one("#kind", Choice).value]
            self._table = await asyncio.to_thread(
                read_table, self._path, self._label, kind, self._settings, self._omitted
            )
            plan = plan_of(self._table, seed, splits, not self.query_one("#quick", Checkbox).value)
        except BadInput as error:
            self._show_status(f"▲ {str(error).removeprefix('--')}", is_wrong=True)
            return None
        self._show_status(await asyncio.to_thread(announcement, plan))
        await self._write_answer(Static(Text("\n".join(self._table.notes))))
        if self._job is None:
            self.query_one("#start").focus()
        return plan

    def _typed_number(self, field: str, least: int, largest: int) -> int:
        typed = self.query_one(f"#{field}", Entry).value.strip()
        if not typed.isdecimal() or not least <= int(typed) <= largest:
            raise BadInput(field, f"{typed!r} is not a whole number from {least} to {largest}")
        return int(typed)

    @on(Button.Pressed, "#start")
    def _start_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._start_diagnosis()

    @work(exclusive=True)
    async def _start_diagnosis(self) -> None:
        from engine.diagnosis.diagnosing import DiagnosisJob

        with suppress(NoMatches):  # the page may have been closed
            plan = await self._show_plan()
            if plan is None or self._table is None or self._job is not None or not self.is_attached:
                return
            self.add_class("-running")
            self.query_one("#stop").focus()
            self._job, self._remaining, self._looked = (
                DiagnosisJob(self._table, plan),
                Remaining(),
                time.monotonic(),
            )
            self._check_job()

    @on(Button.Pressed, "#stop")
    def _stop_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if self._job is not None:
            self._job.stop()
            self._show_status("stopping …")

    def _check_job(self) -> None:
        if self._job is None or not self.is_attached:
            return
        if self._job.wait(0.0):
            job, self._job = self._job, None
            self.remove_class("-running")
            self.query_one("#start").focus()
            try:
                diagnosis = job.finish()
            except Stopped:
                self._show_status("The diagnosis was stopped. Change its settings, or start it again.")
            except Exception as error:  # a failed fit must not end the app, because the run would be lost
                self._show_status(f"▲ The diagnosis failed: {type(error).__name__}: {error}", is_wrong=True)
            else:
                self._show_answer(diagnosis)
            return
        now, share = time.monotonic(), self._job.share
        self._remaining.see(now - self._looked, share, 1.0 - share)
        self._looked = now
        full = round(BAR * share)
        rest = self._remaining.words
        self._show_status(f"fitting {'█' * full}{'░' * (BAR - full)} {100 * share:.0f} %  {rest}")
        self._next_look = call_after(POLL_SECONDS, self, self._check_job)

    def _stop_job(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        if self._job is not None:
            self._job.stop()
            self._job = None

    @work(exclusive=True)
    async def _show_answer(self, diagnosis: Diagnosis) -> None:
        from engine.diagnosis.answer import answers
        from hadamard_tui.charts.plots.diagnosis_plot import chart_of, pairs_of
        from hadamard_tui.headless.diagnosis_text import losses

        first, *sentences = answers(diagnosis)
        pairs = list(pairs_of(diagnosis))
        charts = [ChartView() for _ in pairs]
        notes = "\n".join((*diagnosis.table.notes, diagnosis.plan.sentence))
        self._show_status("")
        with suppress(NoMatches):  # the page may have been closed
            await self._write_answer(
                Static(Text(first, "bold")),
                Static(Text("\n".join(sentences))),
                Static(losses(diagnosis)),
                *charts,
                Static(Text(notes, "dim")),
            )
            for pair, chart in zip(pairs, charts, strict=True):
                chart.show(*chart_of(diagnosis, pair))
            self.query_one("#answer").focus()

    async def _write_answer(self, *parts: Widget) -> None:
        answer = self.query_one("#answer", Words)
        await answer.remove_children()
        await answer.mount(*parts)
        answer.scroll_home(animate=False)

    def _show_status(self, words: str, is_wrong: bool = False) -> None:
        for status in self.query("#status").results(Static):
            status.set_class(is_wrong, "-wrong")
            status.update(words)
            status.display = bool(words)
