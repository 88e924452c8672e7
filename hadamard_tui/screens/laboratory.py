"""The main screen: set-up, charts, list of runs and status lines. It handles keys and engine events."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import events, messages, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import DataTable, Static

from engine.core.parts import BadInput
from engine.spec.presets import name_of
from hadamard_tui.keyboard import ACTIONS, LEAVE_PATH, REPLAY, key
from hadamard_tui.panels import ABOUT, TABLE, story, verdict
from hadamard_tui.panels.panel import PanelContext, PanelPredictions
from hadamard_tui.panels.weights import target_feature
from hadamard_tui.running.playback import Pace
from hadamard_tui.screens.modal import StyledOnce
from hadamard_tui.screens.predicting import Predicting
from hadamard_tui.screens.run_comparison import RunComparison
from hadamard_tui.state.config import Config
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.terminal.terminal_io import FrameRate, line_of
from hadamard_tui.terminal.textual_internals import RestingScreen, remove_answers
from hadamard_tui.terminal.timing import Frames, call_after
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.controls import NumberEntry
from hadamard_tui.widgets.form import Varied as RowVaried
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.screen_lines import Caption, DataLine, Keys, MachineLine, Status
from hadamard_tui.widgets.selection_bar import Progress, SelectionBar, Situation, keys_to_run
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.side import RunList, Side, Story
from hadamard_tui.widgets.stage import FULL, Stage

if TYPE_CHECKING:
    from engine.core.machine import MachineSample
    from engine.spec.experiment import Experiment
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.running.session import Session
    from hadamard_tui.screens.jump import Place


WORDS = {
    "waiting": "Waiting for the previous run, which ends after\ndrawing its data or after its current step.",
    "loading engine": "Loading the engine, which takes a second or two.\nMeanwhile, every key works.",
    "drawing data": "Drawing the data and computing the bounds.",
    "running": "The first evaluation point is being computed.",
    "paused": "Paused before the first evaluation point. {pause} resumes, {step} takes one step.",
    "stopped": "Stopped before the first evaluation point. {run} runs the set-up from the start.",
    "failed": "The engine could not run this set-up.\nChange the set-up, or press {run} to try again.",
}


def waiting_words(session: Session) -> str:
    words = WORDS.get(session.state, "")
    return words.format(run=key("run"), pause=key("pause"), step=key("step"))


STILL = 10
"""Number of frames to draw after the last message, because layout and widget messages take several frames."""

DRAWING = (
    events.Callback,
    events.Timer,
    messages.Layout,
    messages.Prompt,
    messages.Update,
    messages.UpdateScroll,
)
"""Messages that redraw the screen by themselves, so that no extra frame is needed."""

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
PATIENCE = 0.2
"""Maximum seconds without a frame when a run starts because a key changed a number."""

DOCKED, HUGE = 140, 180
"""Minimum screen widths in columns: to show the set-up beside the chart, and to show story and runs, too."""

TALL = 30
"""Minimum screen height in rows at which the table of learners may exceed six rows."""


ENDED = ("finished", "stopped", "failed")


class Laboratory(StyledOnce, Predicting, RunComparison, RestingScreen):
    """Main screen, which shows the current run, the set-up and the list of runs."""

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
        editable: EditableExperiment,
        autorun: bool = False,
        view: KeptView | None = None,
        rate: FrameRate | None = None,
        ascii_only: bool = False,
    ) -> None:
        self._ascii_only = ascii_only
        start_view = view or KeptView()
        super().__init__(editable, Pace(start_view.pace, start_view.unlimited))
        self._rate = rate or FrameRate(Config().fps)
        self._autorun, self._start_view, self.chart_options = autorun, start_view, start_view.chart
        self._frames = Frames(self._rate.highest)
        self._next_frame: asyncio.TimerHandle | None = None
        self._frames_due = STILL
        self._is_at_rest = False
        """Whether no more frames are drawn until the next message."""
        self._has_painted = False
        """Whether the first paint is done. Stored pictures are read later, because they would delay it."""
        self._ticked = time.monotonic()
        self._spent = time.thread_time()
        self.watchers: list[Callable[[], None]] = []
        """Functions that are called after every change of the screen's content."""
        self.leave_path: Callable[[], Awaitable[None]] | None = None
        """Function that leaves the path which the user has chosen in the app; None without such a path."""

    def compose(self) -> ComposeResult:
        self._set_size_classes(self.app.size)
        yield SelectionBar(id="selection")
        yield Caption(id="caption")
        with Horizontal(id="body"):
            yield SetupPane(self._editable, id="setup")
            yield Stage(id="stage", ascii_only=self._ascii_only)
            yield Side(self.runs, id="side")
        yield Static(id="too-small", markup=False)
        yield DataLine(id="data")
        yield MachineLine(id="machine")
        yield Status(id="status")
        yield Keys(id="keys")

    def _set_size_classes(self, size: Size) -> None:
        """Set the CSS classes for the screen size before widgets are mounted.

        Textual restyles all widgets when classes change, so this is done while there are none.
        """
        breakpoints = (size.width, self.HORIZONTAL_BREAKPOINTS), (size.height, self.VERTICAL_BREAKPOINTS)
        for cells, pairs in breakpoints:
            self.add_class(max(pair for pair in pairs if pair[0] <= cells)[1])

    def on_mount(self) -> None:
        self.message_signal.subscribe(self, self._wake_unless_drawing, immediate=True)
        if self._start_view.panel in ABOUT:
            self.query_one(Stage).choose(self._start_view.panel)
        self.set_class(self._start_view.setup_hidden, "-setup-hidden")
        self._select_learner(min(self._start_view.learner, len(self._editable.learners) - 1))
        if self.session is None:  # a key on the welcome page may already have started a run
            self.show_set_up()
        if self._is_about_to_run:
            self.query_one("#loss", ChartView).hint = WORDS["loading engine"]
        self._run_frame()
        if self._autorun:
            self.call_after_refresh(self._run_at_start)

    def _run_at_start(self) -> None:
        self._autorun = False
        self.action_run()

    @property
    def _is_about_to_run(self) -> bool:
        return self._autorun and self._editable.error is None

    def on_screen_suspend(self) -> None:
        """Remove answers to keys when a page opens, because they would cover the page."""
        remove_answers(self.app)

    def on_resize(self, event: events.Resize) -> None:
        width, height = event.size
        self.query_one("#too-small", Static).update(
            f"{width}×{height} is too small: {LEAST_WIDTH}×{LEAST_HEIGHT} needed. Runs continue."
        )

    # Actions

    def action_setup(self) -> None:
        self.toggle_class("-setup-toggled" if self.has_class("-narrow") else "-setup-hidden")
        setup = self.query_one(SetupPane)
        if setup.display:
            setup.enter()
        else:
            self.set_focus(None)
        self.refresh_bindings()

    def run_changed(self, session: Session) -> None:
        """Handle a change of the run's state.

        If the user has started the run by a key that changes a number, draw the result without delay as soon
        as the run ends.
        """
        super().run_changed(session)
        if session.at_once and session.ended:
            self.draw_at_once()

    def run_begun(self, at_once: bool) -> None:
        """When a run begins, hide the set-up pane if it covers the chart.

        If a key press on a number has started the run (`at_once`), the pane stays. The next frame waits until
        PATIENCE seconds after the previous frame, because drawing would slow down a short run.
        """
        self.wake()
        stage = self.query_one(Stage)
        stage.choose_picture(stage.picture)  # otherwise, a stored scaling law would hide the run
        if at_once:
            self._schedule_frame(max(0.0, PATIENCE - (time.monotonic() - self._ticked)))
        elif self._is_drawer_open:
            self.action_setup()

    async def add_item(self, part: str) -> None:
        setup = self.query_one(SetupPane)
        if not setup.display:
            self.action_setup()
        await setup.add_item(part)

    def action_recipe(self) -> None:
        self.query_one(SelectionBar).enter()

    def action_full(self) -> None:
        """Show only the open panel, or only the chart if the table is open. A second call shows both."""
        self.toggle_class(FULL)
        self.query_one(Stage).redraw()
        self.wake()
        self.refresh_bindings()

    def action_larger(self) -> None:
        self._step_number(up=True)

    def action_smaller(self) -> None:
        self._step_number(up=False)

    def _step_number(self, up: bool) -> None:
        if isinstance(self.focused, NumberEntry):
            self.focused.step(up)
        else:
            shown = "" if self.query_one(SetupPane).display else f"{key('setup')} opens the set-up, "
            where = f"{shown}{key('focus_next')} goes from field to field"
            self.notify(f"These keys change a number in the set-up and run at once: {where}.")

    async def action_vary(self) -> None:
        """Run a sweep over the size d of the matrix. In fields of numbers, the key starts other sweeps."""
        await self._sweep_field("problem.matrix.d", True, "d")

    @on(RowVaried)
    async def _row_varied(self, event: RowVaried) -> None:
        event.stop()
        await self._sweep_field(event.row.place, event.row.is_whole, event.row.symbol)

    async def _sweep_field(self, place: str, is_whole: bool, symbol: str) -> None:
        from hadamard_tui.editing.editable_experiment import swept

        if self._editable.raw["axes"]:
            opens = f"{key('setup')} opens the set-up, whose section Axes changes or removes it."
            self.notify(f"The set-up already has a sweep axis: {opens}")
            return
        try:
            editable = swept(self._editable, place, is_whole, symbol)
        except BadInput as error:
            self.notify(error.fault, severity="warning")
        else:
            await self.present(editable)

    async def action_leave(self) -> None:
        if self.query_one(RunList).has_focus_within and self.query_one(RunList).leave_filter():
            self.query_one(RunList).enter()
        elif self._is_runs_drawer_open:
            self.action_runs()
        elif self.guesses is not None:
            self._leave_guess()
        elif self._is_drawer_open and (self.focused is None or self.query_one(SetupPane).has_focus_within):
            self.action_setup()
        elif self.focused is not None:
            self.set_focus(None)
        elif self.has_class(FULL):
            self.action_full()
        elif self.leave_path is not None:
            await self.leave_path()

    def action_jump(self) -> None:
        from hadamard_tui.screens.jump import Jump

        if (jump := Jump(self)).spots:
            self.app.push_screen(jump, self._focus_jump_target)

    def _focus_jump_target(self, place: Place | None) -> None:
        """Focus the target of a jump, and close drawers (panes over the chart) that do not contain it."""
        if place is None:
            return
        within = place.ancestors_with_self if isinstance(place, Widget) else ()
        for drawer, opened in ((SetupPane, "-setup-toggled"), (Side, "-runs-open")):
            if self.query_one(drawer).styles.layer == "drawer" and self.query_one(drawer) not in within:
                self.remove_class(opened)
        self.set_focus(place if isinstance(place, Widget) and place.focusable else None)
        if isinstance(place, int):
            self.action_panel(place)
        self.refresh_bindings()

    def action_help(self) -> None:
        from hadamard_tui.screens.help import Help

        self.app.push_screen(Help())

    async def action_quit(self) -> None:
        await self.app.action_quit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is available.

        The action "leave" needs something to leave: a focused widget, an open drawer, a guess, a chart that
        fills the screen, or a path.
        """
        return self._leaves_part_of_screen or self.leave_path is not None if action == "leave" else True

    @property
    def _leaves_part_of_screen(self) -> bool:
        """Whether the key of "leave" first closes a part of the screen, and does not leave the path yet."""
        opened = self._is_drawer_open or self._is_runs_drawer_open or self.has_class(FULL)
        return self.guesses is not None or self.focused is not None or opened

    @property
    def _is_drawer_open(self) -> bool:
        return self.has_class("-narrow", "-setup-toggled")

    def view(self) -> KeptView:
        return KeptView(
            panel=None if (chosen := self.query_one(Stage).chosen) == TABLE else chosen,
            setup_hidden=self.has_class("-setup-hidden"),
            learner=self._selected_index,
            pace=self._pace.factor,
            unlimited=self._pace.unlimited,
            chart=replace(self.chart_options, window=None),
        )

    def open_story(self) -> None:
        """Open the panel with the story, unless a large screen shows the story beside the chart anyway."""
        self.query_one(Stage).choose(TABLE if self.has_class("-huge") else story.PANEL.name)

    def redraw(self) -> None:
        self.wake()
        self.query_one(SetupPane).show_list()
        if self._trace is None:
            self.show_set_up()
        else:
            self.query_one(Stage).redraw()

    # Drawing

    def _wake_unless_drawing(self, message: Message) -> None:
        if not isinstance(message, DRAWING):
            self.wake()

    def wake(self) -> None:
        """Draw the next STILL frames, because the content may have changed."""
        self._frames_due = STILL
        if self._is_at_rest:
            self._schedule_frame(1 / self._rate.now)

    def _end_rest(self) -> None:
        """End a rest, in which no frames are drawn. Restart the measurement of the time between frames.

        Without the restart, the rest would count as time between two frames.
        """
        if self._is_at_rest:
            self._is_at_rest = False
            self._ticked, self._spent = time.monotonic(), time.thread_time()

    def _run_frame(self) -> None:
        self._next_frame = None
        session = self.session
        is_moving = self._frames_due > 0 or (session is not None and session.is_moving)
        spent = time.thread_time()
        drawing, self._spent = spent - self._spent, spent
        beside_engine = session is not None and session.engine_time.is_counting
        is_free = self._rate.adapt(line_of(self.app), drawing if beside_engine else 0.0)
        if is_free:
            self._frames_due = max(0, self._frames_due - 1)
            self._draw_frame()
        if is_moving or not is_free:
            self._schedule_frame(1 / self._rate.now)
        else:
            self._is_at_rest = True

    def draw_at_once(self) -> None:
        self.wake()
        self._schedule_frame(0.0)

    def _schedule_frame(self, seconds: float) -> None:
        """Schedule the next frame `seconds` from now. This replaces a frame that is already scheduled."""
        self._end_rest()
        if self._next_frame is not None:
            self._next_frame.cancel()
        self._next_frame = call_after(seconds, self, self._run_frame)

    def _draw_frame(self) -> None:
        now = time.monotonic()
        seconds, self._ticked = now - self._ticked, now
        self._frames.count(seconds)
        session = self.session
        if session is not None:
            session.tick(seconds)
            if session.over and self.query_one(Stage).picture:
                session.go_to(self.picture_of(session)[0])
            if (context := self.context) is not None:
                self._show_session(session, context)
            if session.trace is None or session.trace.reached < 0:
                self.query_one("#loss", ChartView).hint = waiting_words(session)
        if self._has_painted:
            stored = self.stored_beside(session)
            self.query_one(Stage).offer_law(None if stored is None else stored.law)
            if self._trace is None:
                self.query_one(Stage).show_stored(stored, self._experiment_title)
        look, learner = self.look, self._editable.learners[self._selected_index]["name"]
        in_field, at_start = self.query_one(SetupPane).has_focus_within, self._is_about_to_run
        facts = session, self._editable, self._pace, self._frames.rate, look, learner, in_field, at_start
        self.query_one(Progress).show(Situation(*facts))
        self.query_one(SelectionBar).show(self._editable, self._selected_index)
        self.query_one(Status).show(self._editable)
        keys = self.query_one(Keys)
        keys.in_a_run = session is not None and session.state not in ENDED
        leaves_path = self.leave_path is not None and not self._leaves_part_of_screen
        labels = {"leave": LEAVE_PATH} if leaves_path else {}
        if self._why_no_guess:
            labels["predict"] = ""
        if self._editable.raw["axes"]:
            labels["vary"] = ""
        if not keys.in_a_run:
            labels["pause"] = REPLAY if session is not None and session.over else ""
        keys.labels = labels
        described = self._editable if session is None else session
        self.query_one(DataLine).show(described.experiment.problem)
        self.query_one(MachineLine).show(self._shown_machine)
        for watcher in self.watchers:
            watcher()

    @property
    def _shown_machine(self) -> MachineSample | None:
        """Last sample of the load of the computing machine; None if no run is going on.

        A screen with few rows shows the load only for a run that another process computes.
        """
        session = self.session
        if session is None or session.ended:
            return None
        return session.machine if session.is_followed or self.has_class("-tall") else None

    def _show_session(self, session: Session, context: PanelContext) -> None:
        stage = self.query_one(Stage)
        if stage.panel is verdict.PANEL:
            session.retraining.measure_certificates(context.curve.learner)
        if stage.panel is not None and stage.panel.looks_inside:
            session.retraining.take_snapshots(context.curve.learner, target_feature(session.experiment))
        if session.playback.replaying:
            self._scroll_to_cursor()
        look, refused = self.picture_of(session)
        stage.show(context, look, refused, self._note_of_opened_preset(session))
        if self.has_class("-huge"):
            self.query_one(Story).show(context, session.experiment)

    def _note_of_opened_preset(self, session: Session) -> str:
        """Return a note if the chart shows the run of another preset than the opened one; otherwise ""."""
        editable = self._editable
        if editable.preset is None or editable.preset == session.preset:
            return ""
        if editable.experiment == session.sweep.experiment:  # the set-up was saved under this name
            return ""
        before = name_of(session.preset) if session.preset else "the previous set-up"
        run = keys_to_run(self.query_one(SetupPane).has_focus_within)
        title = editable.experiment.title or "no title"
        return f"The chart still shows {before}; {run} runs {name_of(editable.preset)}: {title}."

    @property
    def context(self) -> PanelContext | None:
        """State of the run and of the screen, which panels read; None before the run has results."""
        session = self.session
        if session is None or (trace := session.trace) is None:
            return None
        outcomes = session.outcomes if session.over else None
        predictions = PanelPredictions(
            session.sweep.experiment, outcomes, session.point.results, session.left_out, session.guesses
        )
        return PanelContext(
            session.experiment,
            trace,
            self._selected_curve(trace),
            session.point.x_at(session.playback.shown),
            session.point.x_at(session.playback.place),
            self.options_of_panels,
            predictions,
            session.retraining,
            session.point.label,
            session.views,
            partial(_next_steps, session.preset, session.experiment),
            "" if self.has_class(FULL) else f"{key('full')} lists them with the reasons",
        )

    def show_set_up(self) -> None:
        from engine.spec.experiment import drawn

        experiment, error = self._editable.experiment, self._editable.error
        refused = "" if error is None else f"The set-up was changed and cannot run: {error}"
        letters, kinds = self._editable.running_letters, self._editable.kind_places
        self.query_one(Stage).clear(self._experiment_title, letters, kinds, drawn(experiment), refused)
        self.query_one(Story).show(
            None, experiment, list(self._editable.left_out.values()), self.hides_result
        )
        if self.guesses is not None:
            self.show_guess()
        self._list_runs()
        self.call_after_refresh(self._complete_set_up)  # later, so as not to delay the first paint

    @property
    def _experiment_title(self) -> str:
        """Title of the set-up, or "" if it would answer the question of a stop."""
        if self.hides_result:
            return ""
        return self._editable.experiment.title or "Your own experiment"

    def _complete_set_up(self) -> None:
        """Complete the preview of the set-up after the first frame: dim the tabs of panels that do not apply.

        From now on, stored curves of earlier runs are drawn, and garbage is collected.
        """
        self._has_painted = True
        gc.enable()
        stage = self.query_one(Stage)
        stage.dim(self._editable.experiment)
        if self._trace is None:
            stage.announce()

    # The selected learner

    @on(DataTable.RowHighlighted)
    def _row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if self.focused is not event.data_table:
            return
        rows = self.query_one(Scoreboard).learners
        names = [learner["name"] for learner in self._editable.learners]
        if 0 <= event.cursor_row < len(rows) and rows[event.cursor_row] in names:
            self._select_learner(names.index(rows[event.cursor_row]))

    @on(SelectionBar.Chosen)
    async def _part_chosen(self, event: SelectionBar.Chosen) -> None:
        await self.query_one(SetupPane).choose_kind(event.place, event.kind)

    @on(SelectionBar.FieldWanted)
    def _field_wanted(self, event: SelectionBar.FieldWanted) -> None:
        setup = self.query_one(SetupPane)
        if not setup.display:
            self.action_setup()
        setup.enter(event.place)

    @on(SelectionBar.LearnerChosen)
    async def _learner_chosen_in_bar(self, event: SelectionBar.LearnerChosen) -> None:
        if event.number is None:
            await self.query_one(SetupPane).add()
        else:
            self._select_learner(event.number)

    @property
    def _is_replaced_by_stored(self) -> bool:
        """Whether stored curves of an opened preset, or an empty chart, replace the run on the screen.

        A run in progress is not replaced, because the list of runs does not contain it yet. While a run is
        pinned, no run is replaced. An empty chart replaces the run if a tour asks a question before the next
        run.
        """
        has_ended = self.session is not None and self.session.state in ENDED
        has_successor = self.asks_first or self.stored_beside(None) is not None
        return has_ended and not self.runs.pinned and has_successor

    @on(SetupPane.Changed)
    def _setup_changed(self) -> None:
        setup, before = self.query_one(SetupPane), self._editable
        self._editable = setup.editable
        is_opened = before is not setup.editable and before.preset != setup.editable.preset
        if is_opened:
            self.say_what_is_pinned()
        self.end_outdated_guesses()
        if is_opened and self._is_replaced_by_stored:
            self._clear_run()
        elif self.session is None:
            self.show_set_up()
        board, place = self.query_one(Scoreboard), self._editable.place_in_run(setup.learner)
        if self._trace is not None:
            learner = self._selected_curve(self._trace).learner
            place = board.learners.index(learner) if learner in board.learners else None
        if place is not None:
            board.select(place)


def _next_steps(preset: str | None, experiment: Experiment) -> list[str]:
    """Return sentences on the next steps after a run. `preset` is the preset of the experiment."""
    from hadamard_tui.tours import onward

    steps: list[str] = []
    if not experiment.pictures and hasattr(experiment.problem.matrix, "d"):
        steps.append(f"Next: {key('vary')} sweeps d over five values, and shows the scaling law in d.")
    if experiment.story:  # a changed preset has none, and other numbers
        steps += onward(preset, key("break_stop"))
    return steps
