"""The stage: the chart of losses, never hidden, and below it one of the panels and the table of learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import ContentSwitcher, Static

from engine.core.parts import BadInput
from engine.results.views import view
from engine.spec.picture import Picture
from engine.spec.pictures import drawn
from hadamard_tui.charts.series_builder import Plot, loss_plot
from hadamard_tui.charts.view_plot import heat_map, view_axes, view_series
from hadamard_tui.keyboard.keymap import key
from hadamard_tui.panels import ABOUT, PANELS, TABLE
from hadamard_tui.panels.context import PanelContext
from hadamard_tui.panels.panel import Panel
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.picture_row import PictureRow
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.tabs import Tabs

LIVE = "the run"
"""The picture of losses as they come."""

TALL = 32
"""From so many rows on, the table of learners stays below the panel."""


class PanelView(ContentSwitcher):
    """Shows what a panel makes of what is in sight: a chart or words."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, initial="panel-chart")
        self._words: Text | None = None

    def compose(self) -> ComposeResult:
        yield ChartView(id="panel-chart")
        with VerticalScroll(id="panel-words"):
            yield Static(markup=False)

    def show(self, panel: Panel, context: PanelContext) -> None:
        """Draw what has changed."""
        shown = panel.show(context)
        if isinstance(shown, Plot):
            self.current = "panel-chart"
            self.query_one(ChartView).show(*shown)
        else:
            self.current = "panel-words"
            if shown != self._words or shown.spans != self._words.spans:
                self._words = shown
                self.query_one(Static).update(shown)

    def announce(self, about: str) -> None:
        """Say what is going to be here. In the chart, so that most panels change nothing of the layout."""
        self.current = "panel-chart"
        chart = self.query_one(ChartView)
        chart.hint = f"Here: {about}."
        chart.clear()

    def scroll(self, pages: int) -> None:
        """Scroll words by so many pages, up if negative."""
        words = self.query_one("#panel-words", VerticalScroll)
        words.scroll_relative(y=pages * max(words.size.height - 1, 1), animate=False)


class Stage(Vertical):
    """Draws what is in sight, and only what has changed of it."""

    def __init__(self, id: str | None = None, ascii_only: bool = False) -> None:
        super().__init__(id=id)
        self._drawn: object = None
        self._asked = False
        self._ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        yield PictureRow(id="pictures")
        with ContentSwitcher(id="picture", initial="loss"):
            yield ChartView(id="loss")
            yield HeatMapView(id="heat", ascii_only=self._ascii_only)
        yield Tabs(id="tabs")
        yield PanelView(id="panel")
        yield Scoreboard(id="scoreboard")

    def on_mount(self) -> None:
        self.query_one(Tabs).names = tuple(ABOUT)
        self._suggest()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one(Scoreboard).fit(event.size.width)
        self._suggest()

    def _suggest(self) -> None:
        """Until a person chooses: a panel where there is room for one above the table."""
        if not self._asked:
            self._put(PANELS[0].name if self.app.size.height >= TALL else TABLE)

    @property
    def chosen(self) -> str:
        """The name of the panel that is chosen."""
        return self.query_one(Tabs).chosen

    def choose(self, name: str) -> None:
        """Show this panel from now on."""
        self._asked = True
        self._put(name)

    def _put(self, name: str) -> None:
        self.query_one(Tabs).chosen = name
        self.set_class(name == TABLE, "-table")
        self._drawn = None

    def next(self) -> None:
        """Show the panel that follows."""
        names = list(ABOUT)
        self.choose(names[(names.index(self.chosen) + 1) % len(names)])

    @property
    def panel(self) -> Panel | None:
        """The panel in sight, if there is one."""
        return next((panel for panel in PANELS if panel.name == self.chosen), None)

    @property
    def picture(self) -> int:
        """Which picture is shown: 0 the run as it goes on, then those of the experiment."""
        return self.query_one(PictureRow).chosen

    def choose_picture(self, number: int) -> None:
        """Show this picture from now on."""
        row = self.query_one(PictureRow)
        if number < len(row.names):
            row.chosen = number
            self._drawn = None

    def next_picture(self) -> None:
        """Show the picture that follows."""
        row = self.query_one(PictureRow)
        self.choose_picture((row.chosen + 1) % max(len(row.names), 1))

    def _offer_pictures(self, pictures: Sequence[Picture]) -> None:
        """Let these be chosen; the first is what the experiment is about."""
        names = [picture.title or picture.measure.label for picture in pictures]
        row = self.query_one(PictureRow)
        if row.names != (wanted := (LIVE, *names)):
            row.names, row.chosen = wanted, min(1, len(names))

    def _show_picture(self, context: PanelContext) -> None:
        """Draw the chart of losses, or the chosen picture of what there is by now."""
        switcher, chart = self.query_one("#picture", ContentSwitcher), self.query_one("#loss", ChartView)
        if not self.picture or context.results is None:
            switcher.current = "loss"
            chart.show(
                *loss_plot(
                    context.trace,
                    context.shown,
                    context.place,
                    context.chart_options,
                    context.pinned,
                    context.letters,
                )
            )
            return
        try:
            found = view(drawn(context.experiment)[self.picture - 1], context.results)
        except BadInput as error:
            switcher.current, chart.hint = "loss", str(error)
            chart.clear()
            return
        heats = {heat.learner: heat for heat in found.heats}
        if heats:
            switcher.current = "heat"
            heat = heats.get(context.curve.name, found.heats[0])
            self.query_one(HeatMapView).show(heat_map(found, heat))
        else:
            switcher.current, series = "loss", view_series(found, context.numbers)
            chart.show(series, view_axes(found, series))

    def show(self, context: PanelContext) -> None:
        """Draw a run."""
        trace, measuring = context.trace, context.measuring
        state = (
            self.picture,
            (trace, context.shown, context.place, context.chart_options, context.curve),
            min(curve.length for curve in trace.curves),
            [(name, other) for name, other in context.pinned],
            (context.outcomes is None, context.stopped, None if measuring is None else measuring.state),
        )
        if state == self._drawn:
            return
        self._drawn = state
        self._show_picture(context)
        self.query_one(Scoreboard).show(context)
        if self.panel is not None:
            self.query_one(PanelView).show(self.panel, context)

    def redraw(self) -> None:
        """Draw everything anew at the next frame."""
        self._drawn = None

    def clear(
        self, title: str, learners: Mapping[str, int], pictures: Sequence[Picture] = (), refused: str = ""
    ) -> None:
        """Show what a run would show, or why there cannot be one.

        `learners` are their numbers by name, for letters and colours.
        """
        self._drawn = None
        self._offer_pictures(pictures)
        self.query_one("#picture", ContentSwitcher).current = "loss"
        chart = self.query_one("#loss", ChartView)
        keys = f"{key('run')} runs it · {key('help')} explains the screen and its keys"
        chart.hint = f"{title}\n\n{refused or keys}"
        chart.clear()
        self.query_one(Scoreboard).name_learners(learners)
        self.announce()

    def announce(self) -> None:
        """Say in the panel what it is going to show."""
        if self.panel is not None:
            self.query_one(PanelView).announce(self.panel.about)
