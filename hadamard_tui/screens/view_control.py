"""Control of the view: playhead, axis scales, zoom, smoothing, bands and panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace
from textual import on

from engine.core.parts import BadInput
from engine.pictures.view import along_records
from hadamard_tui.charts.plots.look import ChartOptions, Pinned, why_not_log
from hadamard_tui.charts.plots.view_axes import view_axes
from hadamard_tui.charts.plots.view_plot import view_series
from hadamard_tui.colours import palette
from hadamard_tui.panels import ABOUT, verdict
from hadamard_tui.running.runs import compare
from hadamard_tui.screens.run_control import RunControl
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.stage import HEAT, PanelView, Stage

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.charts.plots.look import Look
    from hadamard_tui.charts.series import Series
    from hadamard_tui.colours.palette import Palette
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.panels.panel import Remedy
    from hadamard_tui.running.playback import Pace
    from hadamard_tui.running.runs import Kept
    from hadamard_tui.running.session import Session
    from hadamard_tui.running.stored import StoredPictures


RUN_BEFORE = "the previous run"
"""Name of the previous run in legends."""

LEAPS, ZOOM = 10, 1 / 2
"""Number of long moves of the playhead from start to end, and factor by which a zoom scales the x range."""


class ViewControl(RunControl):
    """Screen that moves the playhead and chooses pictures, chart options and panels."""

    def __init__(self, editable: EditableExperiment, pace: Pace) -> None:
        super().__init__(editable, pace)
        self._cursor: float | None = None
        self._height: float | None = None
        self._cursors: dict[str, float] = {}
        """Last cursor of the pictures of this run, by the sweep axis that is their x."""
        self._incomplete: list[Kept] = []
        """Pinned runs that are not drawn in some picture, and about which the user was notified."""
        self._stored: StoredPictures | None = None
        """Stored pictures that the last look-up found."""
        self._curves_of_stored: Sequence[Series] = ()
        self._looked_up: tuple[Raw | None, Palette | None] = None, None
        """Set-up and colours at the last look-up. The look-up is repeated if either changes."""

    @property
    def look(self) -> Look | None:
        session = self.session
        return None if session is None or session.trace is None else self.picture_of(session)[0]

    def picture_of(self, session: Session) -> tuple[Look, str]:
        """Return the view of a run's chosen picture with its chart options, and an error message.

        If the picture cannot be drawn, the view is that of the run's losses. The message is empty if the
        picture can be drawn.
        """
        number = self.query_one(Stage).picture
        try:
            pinned = self.runs.views(session, session.point.picture(number), all_points=number > 0)
            self._notify_missing_pictures()
            ghost, stored = self._picture_of_previous_run(session, number), self._stored_curves(session)
            place = self._cursor, self._height
            return session.look(number, self.chart_options, pinned, *place, ghost, stored), ""
        except BadInput as error:
            pinned = self.runs.views(session, session.point.picture(0), all_points=False)
            return session.look(0, self.chart_options, pinned), str(error)

    def _notify_missing_pictures(self) -> None:
        for run in self.runs.pinned:
            if run.missing and run not in self._incomplete:
                self._incomplete.append(run)
                self.notify(f"{run.name} is pinned, but not drawn: {run.missing}", severity="warning")

    def _picture_of_previous_run(self, session: Session, number: int) -> Pinned | None:
        """Return the picture of the previous run, which is drawn faintly behind the run of `session`.

        Return None if there is no previous run, if it is pinned, or if it lacks this picture.
        """
        ghost = self.ghost
        if ghost is None or ghost.trace is None or any(run.trace is ghost.trace for run in self.runs.pinned):
            return None
        changed_values, _ = compare(ghost.document, session.document, ghost.experiment)
        try:
            return Pinned(", ".join(filter(None, (RUN_BEFORE, changed_values))), ghost.look(number).view)
        except (BadInput, IndexError):
            return None

    def stored_beside(self, session: Session | None) -> StoredPictures | None:
        """Return the charts that are stored from an earlier run of the preset on the screen.

        Return None if there are none, if the user has changed the preset, or if `session` runs another
        experiment.
        """
        document = self._editable.document
        if self._editable.error is not None or (session is not None and session.document != document):
            return None
        colours = palette.current()
        if self._looked_up[0] is not document or self._looked_up[1] is not colours:
            from hadamard_tui.running.stored import stored_of

            stored = stored_of(self._editable)
            self._looked_up, self._stored = (document, colours), stored
            self._curves_of_stored = () if stored is None or stored.first is None else stored.first.ghost()
        return self._stored

    def _stored_curves(self, session: Session) -> Sequence[Series]:
        """Return the stored curves of an earlier run, to draw behind the run.

        Only the first picture has stored curves behind it, and only until the run ends. A replay hides them.
        """
        is_live = not (session.over or session.playback.replaying)
        if not (is_live and self.query_one(Stage).has_first_chosen):
            return ()
        return () if self.stored_beside(session) is None else self._curves_of_stored

    @property
    def options_of_panels(self) -> ChartOptions:
        """Chart options for panels. The x-axis of panels is the clock of the run.

        If the chosen picture has another x-axis, the options omit its zoom.
        """
        return self.chart_options if self._is_along_clock else replace(self.chart_options, window=None)

    @property
    def _is_along_clock(self) -> bool:
        """Whether the x-axis of the chosen picture is the run's clock, such as the number of examples."""
        return (look := self.look) is None or look.view.picture.x == look.view.axes.clock

    def run_changed(self, session: Session) -> None:
        super().run_changed(session)
        window, look = self.chart_options.window, self.look
        if (
            window is not None
            and look is not None
            and len(look.view.places)
            and window[1] > look.view.places[-1]
        ):
            self.chart_options = replace(self.chart_options, window=None)

    def action_next_picture(self) -> None:
        self._change_picture(self.query_one(Stage).next_picture)

    def action_picture(self, number: int) -> None:
        self._change_picture(partial(self.query_one(Stage).choose_picture, number))

    def _clear_run(self) -> None:
        super()._clear_run()
        self._clear_cursor()
        self._cursors.clear()

    def _clear_cursor(self) -> None:
        self._cursor = self._height = None
        self.query_one(f"#{HEAT}", HeatMapView).take_cursor_away()

    def _change_picture(self, change: Callable[[], None]) -> None:
        """Change the picture and reset the zoom. Pictures along the same sweep axis share their cursor."""
        if (axis := self._sweep_axis_of_look) is not None and self._cursor is not None:
            self._cursors[axis] = self._cursor
        change()
        self._clear_cursor()
        if (axis := self._sweep_axis_of_look) is not None:
            self._cursor = self._cursors.get(axis)
        self.chart_options = replace(self.chart_options, window=None)

    @property
    def _sweep_axis_of_look(self) -> str | None:
        """The x of the chosen picture if it has curves along a sweep axis, else None."""
        look = self.look
        return None if look is None or look.view.heats or along_records(look.view) else look.view.picture.x

    def action_back(self) -> None:
        self._move_cursor(-1)

    def action_forward(self) -> None:
        self._move_cursor(1)

    def action_far_back(self) -> None:
        self._leap_cursor(-1)

    def action_far_forward(self) -> None:
        self._leap_cursor(1)

    def action_first(self) -> None:
        self._move_to_border(to_the_end=False)

    def action_latest(self) -> None:
        self._move_to_border(to_the_end=True)

    def _leap_cursor(self, times: int) -> None:
        if (look := self.look) is not None:
            count = len(look.view.places if along_records(look.view) else look.known_places)
            self._move_cursor(times * max(1, count // LEAPS))

    def _move_cursor(self, places: int) -> None:
        session, look = self.session, self.look
        if session is None or look is None:
            return
        if look.view.heats:
            self.query_one(f"#{HEAT}", HeatMapView).action_move(places, 0)
        elif along_records(look.view):
            session.playback.move(places)
        elif look.x is not None:
            position = int(np.searchsorted(look.known_places, look.x))
            self._cursor = float(
                look.known_places[min(max(position + places, 0), len(look.known_places) - 1)]
            )
        self._scroll_to_cursor()

    def _move_to_border(self, to_the_end: bool) -> None:
        session, look = self.session, self.look
        if session is None or look is None:
            return
        if along_records(look.view):
            session.playback.seek(session.playback.last if to_the_end else 0)
        elif len(look.known_places):
            self._cursor = float(look.known_places[-1 if to_the_end else 0])
        self._scroll_to_cursor()

    def _scroll_to_cursor(self) -> None:
        if (look := self.look) is not None and look.x is not None:
            self._set_window(look, look.resolved.following(look.x, look.view.places))

    def _set_window(self, look: Look, options: ChartOptions) -> None:
        self.chart_options = replace(look.options, window=options.window)

    @on(ChartView.Pointed)
    def _chart_pointed(self, event: ChartView.Pointed) -> None:
        session, look = self.session, self.look
        if session is None or look is None or self.query_one(Stage).has_law_chosen:
            return
        log = bool(look.resolved.x_log)
        if (
            not self.query_one(Stage).is_of_picture(event.chart)
            or look.view.picture.x == look.view.axes.clock
        ):
            session.playback.seek(session.point.record_at(event.x, log))
        elif not along_records(look.view):
            self._cursor = look.nearest(event.x) if len(look.known_places) else None
        elif (clock := look.clock_at(event.x)) is not None:
            session.playback.seek(session.point.record_at(clock))
        self._scroll_to_cursor()

    @on(HeatMapView.Pointed)
    def _cell_pointed(self, event: HeatMapView.Pointed) -> None:
        if event.view.id == HEAT:
            self._cursor, self._height = event.reading.x, event.reading.y

    @on(ChartView.Wheeled)
    def _chart_wheeled(self, event: ChartView.Wheeled) -> None:
        if self.query_one(Stage).is_of_picture(event.chart) or self._is_along_clock:
            self._zoom_chart(ZOOM if event.up else 1 / ZOOM, event.x)

    def action_zoom(self) -> None:
        self._zoom_chart(ZOOM)

    def action_unzoom(self) -> None:
        self._zoom_chart(1 / ZOOM)

    def _zoom_chart(self, by: float, around: float | None = None) -> None:
        look = self.look
        if look is None or look.x is None:
            self.notify("There is no chart to zoom into before a run.")
            return
        place = look.x if around is None else around
        self._set_window(look, look.resolved.zoomed(by, place, look.view.places))

    def action_x_log(self) -> None:
        look = self.look
        wanted = not (self.chart_options if look is None else look.resolved).x_log
        refused = why_not_log("x", look.view.places) if look is not None and wanted else ""
        is_default = look is not None and wanted == look.view.axes.x_log
        self._change_chart_options(refused, x_log=None if is_default else wanted)

    def action_y_log(self) -> None:
        look = self.look
        wanted = not (self.chart_options if look is None else look.resolved).y_log
        refused = ""
        if look is not None and wanted:
            tried = replace(look, options=replace(look.options, y_log=True), pinned=())
            _, refused = view_axes(tried, view_series(tried))
        is_default = look is not None and wanted == look.view.axes.y_log
        self._change_chart_options(refused, y_log=None if is_default else wanted)

    def action_smooth(self) -> None:
        self._change_chart_options(smooth=not self.chart_options.smooth)

    def action_multiples(self) -> None:
        options = self.chart_options if (look := self.look) is None else look.resolved
        self._change_chart_options(multiples=not options.multiples)

    def action_band(self) -> None:
        curves = [] if (look := self.look) is None else look.view.curves
        alone = bool(curves) and all(curve.stderr is None for curve in curves)
        reason = "One replica has no standard error; set replicas to 2 or more for a band."
        self._change_chart_options(reason if alone else "", band=not self.chart_options.band)

    def _change_chart_options(self, refused: str = "", **changes: bool | None) -> None:
        if refused:
            self.notify(refused, severity="warning")
        else:
            self.chart_options = replace(self.chart_options, **changes)

    # The panels

    def action_view(self) -> None:
        self.query_one(Stage).next()
        self._update_panel()

    def action_previous_view(self) -> None:
        self.query_one(Stage).next(-1)
        self._update_panel()

    def action_panel(self, number: int) -> None:
        self.query_one(Stage).choose(list(ABOUT)[number - 1])
        self._update_panel()

    def _update_panel(self) -> None:
        stage, session = self.query_one(Stage), self.session
        if session is None or session.trace is None:
            stage.announce()
        elif stage.panel is verdict.PANEL:
            session.retraining.measure_certificates(self._selected_curve(session.trace).learner, again=True)

    def action_remedy(self) -> None:
        """Make the change that the open panel proposes, and run. The panel then has content."""
        if (remedy := self._panel_remedy()) is not None:
            self.query_one(SetupPane).change(remedy.place, remedy.value)
            self.action_run()

    def _panel_remedy(self) -> Remedy | None:
        """Return the change of the set-up that would give the open panel content, or None."""
        panel = self.query_one(Stage).panel
        experiment = self._editable.experiment if self.session is None else self.session.experiment
        lack = None if panel is None else panel.lacks(experiment)
        return None if lack is None else lack.remedy

    def action_page_down(self) -> None:
        self.query_one(PanelView).scroll(1)

    def action_page_up(self) -> None:
        self.query_one(PanelView).scroll(-1)

    def action_next_learner(self) -> None:
        self._select_learner((self._selected_index + 1) % len(self._editable.learners))

    def action_previous_learner(self) -> None:
        self._select_learner((self._selected_index - 1) % len(self._editable.learners))
