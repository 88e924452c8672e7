"""The one screen of the laboratory: set-up, charts, learners and status."""

from __future__ import annotations

import os
import time
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher, DataTable, Footer, Static

from engine import worker as engine
from engine.run import Diverged
from engine.trace import Curve, Trace
from hadamard_tui.actions import ACTIONS
from hadamard_tui.config import Config
from hadamard_tui.draft import Draft
from hadamard_tui.drawing import loss_axes, loss_series, weight_axes, weight_series
from hadamard_tui.line import FrameRate, line_of
from hadamard_tui.memory import View
from hadamard_tui.playback import Pace
from hadamard_tui.screens.failure import Failure
from hadamard_tui.screens.help import Help
from hadamard_tui.session import Session, refusal
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.setup import Setup
from hadamard_tui.widgets.status import Status
from hadamard_tui.widgets.theory import claims_text, theory_text

TALL = 32
"""From so many rows on, the table of learners stays below the lower panel."""

VIEWS = ("learners", "weights", "theory", "claims")


class EngineSpoke(Message):
    """A state change in the engine's thread, carried over to the screen's."""

    def __init__(self, session: Session, event: engine.Event) -> None:
        super().__init__()
        self.session, self.event = session, event


class Laboratory(Screen[None]):
    """Runs the draft of the set-up and shows what the engine has put into the trace so far."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [action.binding() for action in ACTIONS]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Screen declares them
    VERTICAL_BREAKPOINTS = [(0, "-short"), (TALL, "-tall")]  # noqa: RUF012

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
        self._pace = Pace(self._left.pace, self._left.unlimited)
        self._ticked = time.monotonic()
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield Setup(self._draft, id="setup")
            with Vertical(id="stage"):
                yield ChartView(id="loss")
                with ContentSwitcher(initial="weights", id="lower"):
                    yield ChartView(id="weights")
                    with VerticalScroll(id="theory"):
                        yield Static(id="theory-text", markup=False)
                    with VerticalScroll(id="claims"):
                        yield Static(id="claims-text", markup=False)
                yield Scoreboard(id="scoreboard")
        yield Status(id="status")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        usual = "weights" if self.app.size.height >= TALL else "learners"
        self._show_view(self._left.panel if self._left.panel in VIEWS else usual)
        self.set_class(self._left.setup_toggled, "-setup-toggled")
        self._forget()
        self._frame()
        if self._autorun:
            self.call_after_refresh(self.action_run)

    # What a person does

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

    def action_stop(self) -> None:
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

    def action_setup(self) -> None:
        self.toggle_class("-setup-toggled")
        setup = self.query_one(Setup)
        self.set_focus(next(iter(setup.query("Select, Input")), None) if setup.display else None)
        self.refresh_bindings()

    def action_view(self) -> None:
        views = VIEWS if self.has_class("-short") else VIEWS[1:]
        seen = self._view if self._view in views else str(self.query_one(ContentSwitcher).current)
        self._show_view(views[(views.index(seen) + 1) % len(views)])

    def action_next_learner(self) -> None:
        self._pick((self._selected + 1) % len(self._draft.learners))

    def action_previous_learner(self) -> None:
        self._pick((self._selected - 1) % len(self._draft.learners))

    def action_screenshot(self) -> None:
        try:
            self.notify(f"Wrote {self.app.save_screenshot()}")
        except OSError as error:
            self.notify(f"The screenshot cannot be written: {error}", severity="error")

    def action_leave(self) -> None:
        if self.focused is not None:
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
            return self.focused is not None or self._drawer_open
        return True

    @property
    def _drawer_open(self) -> bool:
        return self.has_class("-narrow", "-setup-toggled")

    # The run

    def _begin(self, paused: bool = False) -> None:
        if self._draft.error is not None:
            self.notify(str(self._draft.error), title="This set-up cannot run", severity="error")
            return
        self._forget()
        spare = max(1, (os.cpu_count() or 2) - 1)
        self.session = Session(self._draft.experiment, self._hear, spare, self._pace)
        self.session.start(paused)

    def _say_if_stopped(self, session: Session) -> None:
        if session.state == "stopped":
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
            case Diverged(learner, x):
                self.notify(f"{learner} diverged at k = {x:g}; the others go on.", severity="warning")
            case engine.Failed(traceback):
                self.app.push_screen(Failure(traceback))
            case engine.Changed("finished"):
                self._show_texts()

    def _forget(self) -> None:
        """End the run that is shown and show an empty laboratory."""
        if self.session is not None:
            self.session.end()
        self.session = None
        self._drawn = None
        self._show_hints()
        self.query_one(Scoreboard).show([learner.name for learner in self._draft.experiment.learners])
        self._show_texts()

    def end(self, seconds: float) -> bool:
        """End the engine's work; whether its thread ended within `seconds`."""
        return self.session is None or self.session.end(seconds)

    @property
    def draft(self) -> Draft:
        """The set-up."""
        return self._draft

    def view(self) -> View:
        """How the person looks at runs now, to look at them alike the next time."""
        return View(
            panel=self._view,
            setup_toggled=self.has_class("-wide", "-setup-toggled"),
            learner=self._selected,
            pace=self._pace.factor,
            unlimited=self._pace.unlimited,
        )

    def redraw(self) -> None:
        """Draw everything anew, as in other colours."""
        self._drawn = None
        trace = self.session.trace if self.session is not None else None
        shown = self._draft.experiment.learners if trace is None else trace.curves
        self.query_one(Scoreboard).show([one.name for one in shown])

    # What is shown

    def _frame(self) -> None:
        """Draw, unless the line to the terminal is still busy with the last frame, and come back."""
        if self._rate.adapt(line_of(self.app)):
            self._tick()
        self.set_timer(1 / self._rate.now, self._frame)

    def _tick(self) -> None:
        now = time.monotonic()
        seconds, self._ticked = now - self._ticked, now
        session = self.session
        if session is not None:
            session.tick(seconds)
            self._draw(session)
        self.query_one(Status).show(session, self._draft, self._pace)

    def _draw(self, session: Session) -> None:
        trace = session.trace
        if trace is None:
            return
        curve, weights = self._curve(trace), self._weights_in_sight
        state = (trace, session.shown, min(c.length for c in trace.curves), curve, weights)
        if state == self._drawn:
            return
        new = self._drawn is None
        self._drawn = state
        series = loss_series(trace, session.shown)
        self.query_one("#loss", ChartView).show(series, loss_axes(trace, series))
        self.query_one(Scoreboard).update(trace, session.shown)
        if weights:
            self._draw_weights(session, trace, curve)
        if new:
            self._show_texts()

    @property
    def _weights_in_sight(self) -> bool:
        return self.query_one("#lower").display and self.query_one(ContentSwitcher).current == "weights"

    def _curve(self, trace: Trace) -> Curve:
        """The curve of the learner selected; of the nearest one, if the set-up has changed since the run."""
        names = [curve.learner for curve in trace.curves]
        name = self._draft.learners[self._selected]["name"]
        return trace.curves[names.index(name) if name in names else min(self._selected, len(names) - 1)]

    def _draw_weights(self, session: Session, trace: Trace, curve: Curve) -> None:
        chart = self.query_one("#weights", ChartView)
        series = weight_series(curve, session.shown, session.experiment.problem)
        if series:
            chart.show(series, weight_axes(trace, curve.name, series))
        elif curve.length:
            chart.hint = f"{curve.name} is not linear in the instance, so it has no weight per feature"
            chart.clear()

    def _show_texts(self) -> None:
        """Theory and claims: texts that change only with the run and the learner."""
        session = self.session
        experiment = session.experiment if session is not None else self._draft.experiment
        outcomes = session.outcomes if session is not None else None
        self.query_one("#claims-text", Static).update(claims_text(experiment, outcomes))
        trace = session.trace if session is not None else None
        text = "What theory says of a learner is shown once a run has begun."
        if trace is None:
            self.query_one("#theory-text", Static).update(text)
        else:
            self.query_one("#theory-text", Static).update(theory_text(trace, self._curve(trace)))

    def _show_hints(self) -> None:
        """Say in the empty charts what a run would show there."""
        loss, weights = self.query_one("#loss", ChartView), self.query_one("#weights", ChartView)
        title = self._draft.experiment.title or "Your own experiment"
        loss.hint = f"{title}\n\nr runs it · ? explains the screen and its keys"
        weights.hint = "The weights of the learner selected; [ and ] select, v shows theory and claims"
        loss.clear()
        weights.clear()

    def _show_view(self, view: str) -> None:
        self._view = view
        self.set_class(view == "learners", "-learners")
        if view != "learners":
            self.query_one(ContentSwitcher).current = view

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
        name = experiment.learners[event.cursor_row].name
        names = [learner["name"] for learner in self._draft.learners]
        if name in names:
            self._pick(names.index(name))

    @on(Setup.Changed)
    def _setup_changed(self) -> None:
        setup = self.query_one(Setup)
        self._draft = setup.draft
        scoreboard = self.query_one(Scoreboard)
        trace = self.session.trace if self.session is not None else None
        if self.session is None:
            scoreboard.show([learner.name for learner in self._draft.experiment.learners])
            self._show_hints()
        row = setup.learner if trace is None else trace.curves.index(self._curve(trace))
        scoreboard.move_cursor(row=row)
        self._show_texts()
