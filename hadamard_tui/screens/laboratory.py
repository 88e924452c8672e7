"""The one screen: set-up, stage, runs and status; what keys do, and what the engine says."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Static

from engine import worker as engine
from engine.run import Diverged, Loaded
from engine.trace import Curve, Trace
from hadamard_tui.actions import ACTIONS
from hadamard_tui.config import Config
from hadamard_tui.draft import Draft
from hadamard_tui.drawing import loss_plot
from hadamard_tui.frames import Frames
from hadamard_tui.lens import Lens, why_not_log
from hadamard_tui.line import FrameRate, line_of
from hadamard_tui.memory import View
from hadamard_tui.panels import ABOUT, verdict
from hadamard_tui.playback import Pace
from hadamard_tui.runs import Kept, Runs
from hadamard_tui.screens.failure import Failure
from hadamard_tui.screens.help import Help
from hadamard_tui.screens.renaming import Renaming
from hadamard_tui.session import Session, refusal
from hadamard_tui.sight import Sight
from hadamard_tui.waiting import waiting_words
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.keys import Keys
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.setup import Setup
from hadamard_tui.widgets.side import RunList, Side, Story
from hadamard_tui.widgets.stage import TALL, PanelView, Stage
from hadamard_tui.widgets.status import Status

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
DOCKED, HUGE = 110, 180
"""From so many columns on, the set-up is docked, and story and runs stand beside the stage."""

LEAPS, ZOOM = 10, 1 / 2
"""A leap of the playhead is one of so many parts of a run; a zoom shows so much of what was shown."""


class EngineSpoke(Message):
    """A state change in the engine's thread, carried over to the screen's."""

    def __init__(self, session: Session, event: engine.Event) -> None:
        super().__init__()
        self.session, self.event = session, event


class Laboratory(Screen[None]):
    """Runs the draft of the set-up and shows what the engine has put into the trace so far."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [action.binding() for action in ACTIONS]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Screen declares them
        (0, "-too-narrow"),
        (LEAST_WIDTH, "-narrow"),
        (DOCKED, "-wide"),
        (HUGE, "-huge"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-too-short"), (LEAST_HEIGHT, "-short"), (TALL, "-tall")]  # noqa: RUF012

    def __init__(
        self,
        draft: Draft,
        autorun: bool = False,
        view: View | None = None,
        rate: FrameRate | None = None,
    ) -> None:
        super().__init__()
        self._rate = rate or FrameRate(Config().fps)
        self._draft, self._autorun, self._left = draft, autorun, view or View()
        self.session: Session | None = None
        self.runs = Runs()
        self.lens = Lens()
        self._pace = Pace(self._left.pace, self._left.unlimited)
        self._frames = Frames(self._rate.most)
        self._ticked = time.monotonic()

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield Setup(self._draft, id="setup")
            yield Stage(id="stage")
            yield Side(self.runs, id="side")
        yield Static(id="too-small", markup=False)
        yield Status(id="status")
        yield Keys(id="keys")

    def on_mount(self) -> None:
        if self._left.panel in ABOUT:
            self.query_one(Stage).choose(self._left.panel)
        self.set_class(self._left.setup_toggled and self.app.size.width >= DOCKED, "-setup-toggled")
        self._forget()
        self._frame()
        if self._autorun:
            self.call_after_refresh(self.action_run)

    def on_resize(self, event: events.Resize) -> None:
        width, height = event.size
        self.query_one("#too-small", Static).update(
            f"{width}×{height} is too small: {LEAST_WIDTH}×{LEAST_HEIGHT} needed. A run goes on."
        )

    # The run

    def action_run(self) -> None:
        self._begin()

    def action_pause(self) -> None:
        if self.session is None:
            self._begin()
        else:
            self.session.toggle()
            self._say_if_stopped(self.session)

    def action_step(self) -> None:
        if self.session is None:
            self._begin(paused=True)
        else:
            self.session.step()
            self._say_if_stopped(self.session)

    def action_halt(self) -> None:
        if self.session is not None:
            self.session.stop()

    def action_reset(self) -> None:
        self._forget()

    def action_faster(self) -> None:
        self._pace.change(2)

    def action_slower(self) -> None:
        self._pace.change(1 / 2)

    def action_unlimited(self) -> None:
        self._pace.unlimited = not self._pace.unlimited

    def _begin(self, paused: bool = False) -> None:
        if self._draft.error is not None:
            self.notify(str(self._draft.error), title="This set-up cannot run", severity="error")
            return
        self._forget()
        spare = max(1, (os.cpu_count() or 2) - 1)
        self.session = Session(self._draft.experiment, self._hear, spare, self._pace, self._draft.preset)
        self.session.start(paused)

    def _say_if_stopped(self, session: Session) -> None:
        if session.state == "stopped" and not session.playback.looking_back:
            self.notify("This run was stopped and cannot go on; r runs the set-up from the start.")

    def _hear(self, session: Session, event: engine.Event) -> None:
        """Called in the engine's thread."""
        self.post_message(EngineSpoke(session, event))

    @on(EngineSpoke)
    def _engine_spoke(self, message: EngineSpoke) -> None:
        if message.session is not self.session:
            return
        message.session.hear(message.event)
        if error := refusal(message.event):
            self.query_one(Setup).complain(error)
            self.notify(str(error), title="This set-up cannot run", severity="error", timeout=10)
        match message.event:
            case Loaded(trace):
                if self.lens.window is not None and self.lens.window[1] > trace.last:
                    self.lens = replace(self.lens, window=None)
            case Diverged(learner, x):
                self.notify(f"{learner} diverged at k = {x:g}; the others go on.", severity="warning")
            case engine.Failed(traceback):
                self.app.push_screen(Failure(traceback))
        self._list_runs()

    def _forget(self) -> None:
        """End the run that is shown and show an empty laboratory."""
        if self.session is not None:
            self.session.end()
        self.session = None
        self._show_set_up()

    def end(self, seconds: float) -> bool:
        """End the engine's work; whether its threads ended within `seconds`."""
        return self.session is None or self.session.end(seconds)

    # The chart

    def action_back(self) -> None:
        self._move(-1)

    def action_forward(self) -> None:
        self._move(1)

    def action_far_back(self) -> None:
        self._leap(-1)

    def action_far_forward(self) -> None:
        self._leap(1)

    def action_first(self) -> None:
        self._seek(0.0)

    def action_latest(self) -> None:
        self._seek(float("inf"))

    def _leap(self, times: int) -> None:
        if (trace := self._trace) is not None:
            self._move(times * max(1, len(trace.x) // LEAPS))

    def _move(self, records: int) -> None:
        if (session := self.session) is not None:
            session.move(records)
            self._follow(session)

    def _seek(self, x: float) -> None:
        if (session := self.session) is not None:
            session.seek(x)
            self._follow(session)

    def _follow(self, session: Session) -> None:
        if session.trace is not None:
            self.lens = self.lens.following(session.place, session.trace.x)

    @on(ChartView.Pointed)
    def _pointed(self, event: ChartView.Pointed) -> None:
        self._seek(event.x)

    @on(ChartView.Wheeled)
    def _wheeled(self, event: ChartView.Wheeled) -> None:
        self._zoom(ZOOM if event.up else 1 / ZOOM, event.x)

    def action_zoom(self) -> None:
        self._zoom(ZOOM)

    def action_unzoom(self) -> None:
        self._zoom(1 / ZOOM)

    def _zoom(self, by: float, around: float | None = None) -> None:
        session = self.session
        if session is None or session.trace is None:
            self.notify("There is nothing to zoom into before a run.")
            return
        place = session.place if around is None else around
        self.lens = self.lens.zoomed(by, place, session.trace.x)

    def action_x_log(self) -> None:
        refused = "" if self._trace is None else why_not_log("x", self._trace.x)
        self._change_lens("" if self.lens.x_log else refused, x_log=not self.lens.x_log)

    def action_y_log(self) -> None:
        refused, session = "", self.session
        if session is not None and session.trace is not None and not self.lens.y_log:
            tried = replace(self.lens, y_log=True)
            refused = loss_plot(session.trace, session.shown, session.place, tried, ()).note
        self._change_lens(refused, y_log=not self.lens.y_log)

    def action_smooth(self) -> None:
        self._change_lens(smooth=not self.lens.smooth)

    def action_band(self) -> None:
        trace = self._trace
        alone = trace is not None and all(curve.stderr is None for curve in trace.curves)
        one = "One replica has no standard error; set replicas to 2 or more for a band."
        self._change_lens(one if alone else "", band=not self.lens.band)

    def _change_lens(self, refused: str = "", **changes: bool) -> None:
        if refused:
            self.notify(refused, severity="warning")
        else:
            self.lens = replace(self.lens, **changes)  # type: ignore[arg-type]

    # The panels

    def action_view(self) -> None:
        self.query_one(Stage).next()
        self._announce()

    def action_panel(self, number: int) -> None:
        self.query_one(Stage).choose(list(ABOUT)[number - 1])
        self._announce()

    def _announce(self) -> None:
        stage, session = self.query_one(Stage), self.session
        if session is None or session.trace is None:
            stage.announce()
        elif stage.panel is verdict.PANEL:
            session.measure(self._curve(session.trace).learner, again=True)

    def action_page_down(self) -> None:
        self.query_one(PanelView).scroll(1)

    def action_page_up(self) -> None:
        self.query_one(PanelView).scroll(-1)

    def action_next_learner(self) -> None:
        self._pick((self._selected + 1) % len(self._draft.learners))

    def action_previous_learner(self) -> None:
        self._pick((self._selected - 1) % len(self._draft.learners))

    # Comparing runs

    def action_pin(self) -> None:
        session = self.session
        if (
            session is None
            or session.trace is None
            or session.state not in ("finished", "stopped", "replaying")
        ):
            self.notify("A run is pinned once it has finished or was halted; r runs the set-up.")
        elif self.runs.holds(session.trace):
            self.notify("This run is pinned already; change one thing and run again.")
        else:
            run = self.runs.pin(session.experiment, session.trace, session.preset)
            self.notify(f"Pinned as {run.name}; change one thing and run again. l lists the runs.")
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
        draft = self._draft if chosen is None else Draft(chosen.experiment, chosen.preset)
        if draft.error is None:
            run = draft.experiment.run
            draft.put("run.seed", run.seed + run.replicas)
            await self._take(draft)
        self._begin()

    def action_rename_run(self) -> None:
        if (run := self._chosen_run) is not None:
            self.app.push_screen(Renaming(run.name), lambda name: self._renamed(run, name))

    def _renamed(self, run: Kept, name: str | None) -> None:
        run.name = name or run.name
        self._list_runs()

    def action_delete_run(self) -> None:
        if (run := self._chosen_run) is not None:
            self.runs.remove(run)
            self.notify(f"{run.name} is deleted.")
            self._list_runs()

    @on(RunList.Chosen)
    async def _run_chosen(self, event: RunList.Chosen) -> None:
        await self._take(Draft(event.run.experiment, event.run.preset))
        self.notify(f"This is the set-up of {event.run.name}; r runs it.")

    async def present(self, draft: Draft) -> None:
        """Show another set-up and run it."""
        await self._take(draft)
        self._begin()

    async def _take(self, draft: Draft) -> None:
        """Put another draft on the panels, the learner selected staying so if there are as many."""
        selected = min(self._selected, len(draft.learners) - 1)
        self._draft = draft
        await self.query_one(Setup).show(draft)
        self._pick(selected)

    @property
    def _chosen_run(self) -> Kept | None:
        run = self.query_one(RunList).selected
        if run is None:
            self.notify("No run is pinned; c pins the one on the screen.")
        return run

    def _list_runs(self) -> None:
        session = self.session
        alone = session is None or session.trace is None or self.runs.holds(session.trace)
        self.query_one(RunList).show(None if alone or session is None else session.experiment)

    # The program

    def action_setup(self) -> None:
        self.toggle_class("-setup-toggled")
        setup = self.query_one(Setup)
        if setup.display:
            setup.enter()
        else:
            self.set_focus(None)
        self.refresh_bindings()

    def action_screenshot(self) -> None:
        try:
            self.notify(f"Wrote {self.app.save_screenshot()}")
        except OSError as error:
            self.notify(f"The screenshot cannot be written: {error}", severity="error")

    def action_leave(self) -> None:
        if self._runs_drawer_open:
            self.action_runs()
        elif self.focused is not None:
            self.set_focus(None)
        elif self._drawer_open:
            self.action_setup()

    def action_help(self) -> None:
        self.app.push_screen(Help())

    def action_quit(self) -> None:
        self.app.exit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leaving is offered only where there is something to leave."""
        if action == "leave":
            return self.focused is not None or self._drawer_open or self._runs_drawer_open
        return True

    @property
    def _drawer_open(self) -> bool:
        return self.has_class("-narrow", "-setup-toggled")

    @property
    def _runs_drawer_open(self) -> bool:
        return self.has_class("-runs-open") and not self.has_class("-huge")

    @property
    def draft(self) -> Draft:
        """The set-up."""
        return self._draft

    def view(self) -> View:
        """How the person looks at runs now, to look at them alike the next time."""
        return View(
            panel=self.query_one(Stage).chosen,
            setup_toggled=self.has_class("-setup-toggled") and not self.has_class("-narrow"),
            learner=self._selected,
            pace=self._pace.factor,
            unlimited=self._pace.unlimited,
        )

    def redraw(self) -> None:
        """Draw everything anew, as in other colours."""
        self.query_one(Setup).show_list()
        if self._trace is None:
            self._show_set_up()
        else:
            self.query_one(Stage).redraw()

    # What is shown

    def _frame(self) -> None:
        """Draw, unless the line to the terminal is still busy with the last frame, and come back."""
        if self._rate.adapt(line_of(self.app)):
            self._tick()
        self.set_timer(1 / self._rate.now, self._frame)

    def _tick(self) -> None:
        now = time.monotonic()
        seconds, self._ticked = now - self._ticked, now
        self._frames.count(seconds)
        session = self.session
        if session is not None:
            session.tick(seconds)
            if (sight := self._sight(session)) is not None:
                self._show(session, sight)
            if session.trace is None or session.trace.frontier < 0:
                self.query_one("#loss", ChartView).hint = waiting_words(session)
        self.query_one(Status).show(session, self._draft, self._pace, self._frames.rate)

    def _show(self, session: Session, sight: Sight) -> None:
        stage = self.query_one(Stage)
        if stage.panel is verdict.PANEL:
            session.measure(sight.curve.learner)
        if session.playback.replaying:
            self._follow(session)
        stage.show(sight)
        if self.has_class("-huge"):
            self.query_one(Story).show(sight, session.experiment)

    def _sight(self, session: Session) -> Sight | None:
        trace = session.trace
        if trace is None:
            return None
        return Sight(
            session.experiment,
            trace,
            self._curve(trace),
            session.shown,
            session.place,
            self.lens,
            self.runs.others(trace),
            session.outcomes,
            session.measuring,
        )

    @property
    def _trace(self) -> Trace | None:
        return None if self.session is None else self.session.trace

    def _curve(self, trace: Trace) -> Curve:
        """The curve of the learner selected; of the nearest one, if the set-up has changed since the run."""
        names = [curve.learner for curve in trace.curves]
        name = self._draft.learners[self._selected]["name"]
        return trace.curves[names.index(name) if name in names else min(self._selected, len(names) - 1)]

    def _show_set_up(self) -> None:
        """Say in the empty laboratory what a run would show there."""
        experiment = self._draft.experiment
        title = experiment.title or "Your own experiment"
        self.query_one(Stage).clear(title, [learner.name for learner in experiment.learners])
        self.query_one(Story).show(None, experiment)
        self._list_runs()

    # The learner selected

    @property
    def _selected(self) -> int:
        return self.query_one(Setup).learner

    def _pick(self, number: int) -> None:
        self.query_one(Setup).pick(number)

    @on(DataTable.RowHighlighted)
    def _row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if self.focused is not event.data_table:
            return
        session = self.session
        experiment = self._draft.experiment if session is None else session.experiment
        if event.cursor_row >= len(experiment.learners):
            return
        name = experiment.learners[event.cursor_row].name
        names = [learner["name"] for learner in self._draft.learners]
        if name in names:
            self._pick(names.index(name))

    @on(Setup.Changed)
    def _setup_changed(self) -> None:
        setup = self.query_one(Setup)
        self._draft = setup.draft
        if self.session is None:
            self._show_set_up()
        place = self._draft.place_in_run(setup.learner)
        row = place if self._trace is None else self._trace.curves.index(self._curve(self._trace))
        if row is not None:
            self.query_one(Scoreboard).move_cursor(row=row)
