"""Looking at a run: the playhead, axes, zoom, smoothing and bands, and the panels below the chart."""

from __future__ import annotations

from dataclasses import replace

from textual import on

from hadamard_tui.charts.chart_options import ChartOptions, why_not_log
from hadamard_tui.charts.series_builder import loss_plot
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import ABOUT, verdict
from hadamard_tui.running.playback import Pace
from hadamard_tui.running.session import Session
from hadamard_tui.screens.running import Running
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.stage import PanelView, Stage

LEAPS, ZOOM = 10, 1 / 2
"""A leap of the playhead is one of so many parts of a run; a zoom shows so much of what was shown."""


class Looking(Running):
    """Moves the playhead and chooses how charts look and which panel is shown."""

    def __init__(self, editable: EditableExperiment, pace: Pace) -> None:
        super().__init__(editable, pace)
        self.chart_options = ChartOptions()

    def run_changed(self, session: Session) -> None:
        super().run_changed(session)
        window, trace = self.chart_options.window, session.trace
        if window is not None and trace is not None and window[1] > trace.last:
            self.chart_options = replace(self.chart_options, window=None)

    def action_back(self) -> None:
        self._move(-1)

    def action_forward(self) -> None:
        self._move(1)

    def action_far_back(self) -> None:
        self._leap(-1)

    def action_far_forward(self) -> None:
        self._leap(1)

    def action_first(self) -> None:
        self._go(0)

    def action_latest(self) -> None:
        if self.session is not None:
            self._go(self.session.playback.last)

    def _leap(self, times: int) -> None:
        if (trace := self._trace) is not None:
            self._move(times * max(1, len(trace.x) // LEAPS))

    def _move(self, records: int) -> None:
        if (session := self.session) is not None:
            session.move(records)
            self._follow(session)

    def _go(self, record: int) -> None:
        if (session := self.session) is not None:
            session.go(record)
            self._follow(session)

    def _follow(self, session: Session) -> None:
        if session.trace is not None:
            here = session.x_at(session.place)
            self.chart_options = self.chart_options.following(here, session.trace.x)

    @on(ChartView.Pointed)
    def _pointed(self, event: ChartView.Pointed) -> None:
        if not self._other_x(event) and (session := self.session) is not None:
            session.seek(event.x, self.chart_options.x_log)
            self._follow(session)

    @on(ChartView.Wheeled)
    def _wheeled(self, event: ChartView.Wheeled) -> None:
        if not self._other_x(event):
            self._zoom(ZOOM if event.up else 1 / ZOOM, event.x)

    def _other_x(self, event: ChartView.Pointed | ChartView.Wheeled) -> bool:
        """Whether a chart shows a picture whose x-axis is not that of the run."""
        stage = self.query_one(Stage)
        return stage.picture > 0 and event.chart is stage.query_one("#loss")

    def action_zoom(self) -> None:
        self._zoom(ZOOM)

    def action_unzoom(self) -> None:
        self._zoom(1 / ZOOM)

    def _zoom(self, by: float, around: float | None = None) -> None:
        session = self.session
        if session is None or session.trace is None:
            self.notify("There is nothing to zoom into before a run.")
            return
        place = session.x_at(session.place) if around is None else around
        self.chart_options = self.chart_options.zoomed(by, place, session.trace.x)

    def action_x_log(self) -> None:
        refused = "" if self._trace is None else why_not_log("x", self._trace.x)
        self._change_chart_options(
            "" if self.chart_options.x_log else refused, x_log=not self.chart_options.x_log
        )

    def action_y_log(self) -> None:
        refused, session = "", self.session
        if session is not None and session.trace is not None and not self.chart_options.y_log:
            tried = replace(self.chart_options, y_log=True)
            shown, place = session.x_at(session.shown), session.x_at(session.place)
            refused = loss_plot(session.trace, shown, place, tried, ()).note
        self._change_chart_options(refused, y_log=not self.chart_options.y_log)

    def action_smooth(self) -> None:
        self._change_chart_options(smooth=not self.chart_options.smooth)

    def action_band(self) -> None:
        trace = self._trace
        alone = trace is not None and all(curve.stderr is None for curve in trace.curves)
        one = "One replica has no standard error; set replicas to 2 or more for a band."
        self._change_chart_options(one if alone else "", band=not self.chart_options.band)

    def _change_chart_options(self, refused: str = "", **changes: bool) -> None:
        if refused:
            self.notify(refused, severity="warning")
        else:
            self.chart_options = replace(self.chart_options, **changes)  # type: ignore[arg-type]

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
        self._pick((self._selected + 1) % len(self._editable.learners))

    def action_previous_learner(self) -> None:
        self._pick((self._selected - 1) % len(self._editable.learners))
