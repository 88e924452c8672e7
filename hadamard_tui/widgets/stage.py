"""Stage of the screen: the chosen picture, and below it the table of learners or the chosen panel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import ContentSwitcher, Static

from hadamard_tui.charts.drawing.nets import Nets
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.plots.derived_plots import (
    difference,
    has_multiples,
    is_difference,
    multiples,
    stacked,
)
from hadamard_tui.charts.plots.look import STORED
from hadamard_tui.charts.plots.series_builder import Plot
from hadamard_tui.charts.plots.view_plot import heat_map, plot
from hadamard_tui.colours import palette
from hadamard_tui.keyboard import key, printed_key, shown_keys
from hadamard_tui.panels import ABOUT, PANELS, TABLE, WORDS, story, theory
from hadamard_tui.panels.panel import Lack, Panel, headline, nothing
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.cell_view import NetsView
from hadamard_tui.widgets.chart_view import ChartView, MultiplesView
from hadamard_tui.widgets.controls import Words
from hadamard_tui.widgets.heat_map_view import HeatMapView
from hadamard_tui.widgets.scoreboard import LEAST as LEAST_WITH_NOTE
from hadamard_tui.widgets.scoreboard import Scoreboard, TableNote
from hadamard_tui.widgets.screen_lines import Caption
from hadamard_tui.widgets.tabs import PictureRow, Tabs, shortened

if TYPE_CHECKING:
    from engine.pictures.picture import Picture
    from engine.pictures.view import KindPlace
    from engine.spec.experiment import Experiment
    from hadamard_tui.charts.plots.look import Look
    from hadamard_tui.panels.panel import PanelContext
    from hadamard_tui.running.stored import StoredPicture, StoredPictures

HEAT, MULTIPLES = "heat", "multiples"
"""Widget ids of the heat map, and of the grid with one chart per learner."""

LIVE, LAW = "the run", "law, stored"
"""Title of the picture of the run's losses, and short title of a sweep's stored picture, the law."""

BELOW_CHART = 0.3
"""Largest share of the stage for everything but the chart while the table of learners is open.

Frame, tick labels and legend take five rows of the chart. So 9, 20 or 34 rows remain inside the frame on
screens of 24, 40 or 60 rows.
"""

LEAST_CHART = 14
"""Minimum height of the chart in rows, if the table has room beside it: nine rows inside the frame.

A long status, such as that of a data file, leaves the stage fewer rows.
"""

LEAST_TABLE, MOST_TABLE = 3, 10
"""Minimum and maximum height of the table in rows: the heading, and two or nine learners."""

LEAST_WITH_OVERLAP = 10
"""Minimum height of a panel at which two pages of its text share a line, so that readers keep their place."""

TOUR = "-tour"
"""CSS class of the screen during a tour."""

FULL = "-full"
"""CSS class of the screen while the chart or the open panel is shown alone."""

WITH_TABLE = "-table"
"""CSS class of the stage while the table of learners is open."""


def _draw_plot(chart: ChartView, shown: Plot) -> None:
    """Show a plot in a chart. If curves are smoothed, a note names the key that ends the smoothing."""
    smoothed = f"{shown.smoothed} ({key('smooth')})" if shown.smoothed else ""
    note = " · ".join(filter(None, (shown.note, shown.screen_note, smoothed)))
    chart.show(shown.series, shown.axes, note, shown.playhead, shown.sentences)


class PanelWords(Words):
    """Text of a panel. If the text does not fit, the border shows the key that scrolls down."""

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._mark_if_cut()

    def watch_virtual_size(self) -> None:
        self._mark_if_cut()

    def on_resize(self) -> None:
        self._mark_if_cut()

    def _mark_if_cut(self) -> None:
        keys = shown_keys("page_down").split()
        page_down, is_tour = printed_key("pagedown"), self.screen.has_class(TOUR)
        if is_tour:
            keys = [key_name for key_name in keys if key_name != page_down]
        reads_on = [f"{key_name} reads on" for key_name in keys[:1]]
        if is_tour:
            reads_on.append(f"{page_down} goes to the next stop")
        if not self.screen.has_class(FULL):
            reads_on.append(f"{key('full')} shows it alone")
        self.border_subtitle = " · ".join(reads_on)
        fits = self.virtual_size.height <= self.outer_size.height  # outer size: the border takes a line
        self.set_class(not fits and self.scroll_y < self.max_scroll_y, "-cut")


class PanelView(ContentSwitcher):
    """Widget with the content of the open panel: a chart, a heat map, nets or text."""

    def __init__(self, id: str | None = None, ascii_only: bool = False) -> None:
        super().__init__(id=id, initial="panel-chart")
        self._ascii_only = ascii_only
        self._words: Text | None = None
        self._panel: Panel | None = None
        self._at: tuple[Panel, str, Experiment] | None = None
        """Panel, learner and experiment of the text. If any of the three changes, scroll to the top."""

    def compose(self) -> ComposeResult:
        yield ChartView(id="panel-chart")
        yield HeatMapView(id="panel-heat", ascii_only=self._ascii_only)
        yield NetsView(id="panel-nets")
        yield PanelWords(id="panel-words")

    def show(self, panel: Panel, context: PanelContext) -> None:
        lack = panel.lacks(context.experiment)
        shown = panel.show(context) if lack is None else nothing(_reason_and_remedy(lack))
        if isinstance(shown, Plot):
            self.current = "panel-chart"
            axes = replace(shown.axes, title=_title_with_place(shown.axes.title, context))
            _draw_plot(self.query_one(ChartView), shown._replace(axes=axes))
        elif isinstance(shown, HeatMap):
            self.current = "panel-heat"
            heat = self.query_one(HeatMapView)
            if panel is not self._panel:
                heat.clear()
            heat.show(replace(shown, title=_title_with_place(shown.title, context)))
        elif isinstance(shown, Nets):
            self.current = "panel-nets"
            self.query_one(NetsView).show(shown._replace(title=_title_with_place(shown.title, context)))
        else:
            self.current = "panel-words"
            if context.where:
                shown = Text.assemble((f"at {context.where}\n", "dim"), shown)
            if shown != self._words or shown.spans != self._words.spans:
                self._words = shown
                self.query_one(Static).update(shown)
            if (panel, context.curve.learner, context.experiment) != self._at:
                self.query_one(PanelWords).scroll_home(animate=False)
        self._panel, self._at = panel, (panel, context.curve.learner, context.experiment)

    def show_words(self, words: Text) -> None:
        self.current = "panel-words"
        self._words = words
        self.query_one(Static).update(words)

    def announce(self, about: str) -> None:
        """Show a text about the panel in an empty chart.

        The chart stays, so that the layout does not change.
        """
        self.current = "panel-chart"
        chart = self.query_one(ChartView)
        chart.hint = about
        chart.clear()

    def scroll(self, pages: int) -> None:
        words = self.query_one(PanelWords)
        height = words.size.height
        lines = height - 1 if height >= LEAST_WITH_OVERLAP else height
        words.scroll_relative(y=pages * max(lines, 1), animate=False)


class Stage(Vertical):
    """Part of the screen with the chosen picture, and the panel of the open tab below it.

    Only visible changes are drawn.
    """

    def __init__(self, id: str | None = None, ascii_only: bool = False) -> None:
        super().__init__(id=id, classes=WITH_TABLE)  # from the start: a later change computes styles anew
        self._drawn: object = None
        self._ascii_only = ascii_only
        self._of: Experiment | None = None
        """Experiment for which the tabs were dimmed."""
        self._hopeless: frozenset[str] = frozenset()
        """Names of the panels that do not apply to this experiment, and that no change of its run enables."""
        self._pictures: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        """Titles and short titles of the experiment's pictures."""
        self._law: StoredPicture | None = None
        """Stored picture of a sweep, which is offered after the experiment's pictures."""

    def compose(self) -> ComposeResult:
        yield PictureRow(id="pictures")
        with ContentSwitcher(id="picture", initial="loss"):
            yield ChartView(id="loss")
            yield HeatMapView(id=HEAT, ascii_only=self._ascii_only)
            yield MultiplesView(id=MULTIPLES)
        yield Tabs(id="tabs")
        yield PanelView(id="panel", ascii_only=self._ascii_only)
        yield Scoreboard(id="scoreboard")
        yield TableNote(id="table-note")

    def on_mount(self) -> None:
        tabs = self.query_one(Tabs)
        tabs.names, tabs.words = tuple(ABOUT), WORDS
        if not tabs.chosen:
            self.choose(TABLE)

    def on_resize(self, event: events.Resize) -> None:
        self.query_one(Scoreboard).fit(event.size.width)
        self._fit_table()
        self.query_one(TableNote).fit(*event.size)
        self.redraw()

    def _fit_table(self) -> None:
        """Limit the rows of the table of learners, so that the chart above it keeps its minimum height."""
        has_note = self.size.height >= LEAST_WITH_NOTE
        other_rows = 1 + self.query_one(PictureRow).display + has_note  # one row for the tabs
        height = self.size.height
        rows = min(math.ceil(BELOW_CHART * height), height - LEAST_CHART) - other_rows
        self.query_one(Scoreboard).styles.max_height = max(LEAST_TABLE, min(MOST_TABLE, rows))

    @property
    def chosen(self) -> str:
        return self.query_one(Tabs).chosen

    def choose(self, name: str) -> None:
        self.query_one(Tabs).chosen = name
        self.set_class(name == TABLE, WITH_TABLE)
        self._drawn = None

    def next(self, places: int = 1) -> None:
        """Open the panel that is `places` further in the row of tabs.

        Panels that can never show anything for this experiment are skipped.
        """
        names = [name for name in ABOUT if name == self.chosen or name not in self._hopeless]
        self.choose(names[(names.index(self.chosen) + places) % len(names)])

    @property
    def panel(self) -> Panel | None:
        return next((panel for panel in PANELS if panel.name == self.chosen), None)

    @property
    def picture(self) -> int:
        """Number of the chosen picture: 0 for the run's losses, then 1, 2, … for the experiment's pictures.

        While the stage shows the stored chart of a sweep (see `offer_law`), this is the number of the
        experiment's first picture.
        """
        return self._first_picture if self.has_law_chosen else self.query_one(PictureRow).chosen

    @property
    def has_law_chosen(self) -> bool:
        """Whether the stage shows a chart that is stored from an earlier run of a sweep.

        The chart shows the outcome of the sweep against the number that the sweep varies.
        """
        return self._law is not None and self.query_one(PictureRow).chosen > len(self._pictures[0])

    @property
    def has_first_chosen(self) -> bool:
        return self.query_one(PictureRow).chosen == self._first_picture

    @property
    def _first_picture(self) -> int:
        return min(1, len(self._pictures[0]))

    def choose_picture(self, number: int) -> None:
        row = self.query_one(PictureRow)
        if number < len(row.names):
            row.chosen = number
            self._drawn = None

    def next_picture(self) -> None:
        row = self.query_one(PictureRow)
        self.choose_picture((row.chosen + 1) % max(len(row.names), 1))

    def offer_pictures(self, pictures: Sequence[Picture]) -> None:
        """Set the pictures among which the user can choose. If they have changed, choose the first."""
        names = [picture.title or picture.measure.label for picture in pictures]
        cut = shortened(names)
        short = [picture.name or picture_name for picture, picture_name in zip(pictures, cut, strict=True)]
        if self._pictures[0] != tuple(names) or not self.query_one(PictureRow).names:
            self._pictures = tuple(names), tuple(short)
            self._name_pictures(self._first_picture)

    def offer_law(self, law: StoredPicture | None) -> None:
        """Offer a stored chart of an earlier run's sweep. None withdraws the offer.

        The chart shows the outcome of the sweep against the number that the sweep varies.
        """
        if law is not self._law:
            chosen = self.picture
            self._law = law
            self._name_pictures(chosen)

    def _name_pictures(self, chosen: int) -> None:
        row, (names, short) = self.query_one(PictureRow), self._pictures
        law = () if self._law is None else (f"{self._law.axes.title}, {STORED}",)
        row.names, row.short = (LIVE, *names, *law), (LIVE, *short, *(LAW for _ in law))
        row.chosen = chosen
        self._drawn = None
        self._fit_table()

    def _show_picture(self, look: Look, learner_name: str, refused: str) -> None:
        """Draw the chosen picture. If it cannot be drawn, show the reason `refused` instead."""
        switcher, chart = self.query_one("#picture", ContentSwitcher), self.query_one("#loss", ChartView)
        if self._law is not None and self.has_law_chosen:
            switcher.current = "loss"
            self._draw_law(self._law)
            return
        heats = {heat.learner: heat for heat in look.view.heats}
        if heats and not refused:
            switcher.current = HEAT
            self.query_one(f"#{HEAT}", HeatMapView).show(
                heat_map(look, heats.get(learner_name, look.view.heats[0]))
            )
            return
        if is_difference(look) and not refused:
            switcher.current = "loss"
            _draw_plot(chart, difference(look))
            return
        if look.resolved.multiples and has_multiples(look) and not refused:
            switcher.current = MULTIPLES
            grid = self.query_one(MultiplesView)
            plots, more = multiples(look, grid.room, learner_name)
            do_not_fit = "chart does not fit" if more == 1 else "charts do not fit"
            grid.show(plots, _draw_plot, f"{more} more {do_not_fit}" if more else "")
            return
        if look.view.beneath is not None and not refused:
            switcher.current = MULTIPLES
            self.query_one(MultiplesView).show(stacked(look), _draw_plot, stacked=True)
            return
        switcher.current = "loss"
        if refused:
            chart.hint = refused
            chart.clear()
        else:
            drawn = plot(look)
            if self.query_one(PictureRow).has_title(drawn.axes.title):
                drawn = drawn._replace(axes=replace(drawn.axes, title=""))
            _draw_plot(chart, drawn)

    def _draw_law(self, law: StoredPicture) -> None:
        sentences = () if self._of is None else self._of.reason.strip().splitlines()
        stored = law.plot(_note_of_key("vary"), faint=False)
        _draw_plot(self.query_one("#loss", ChartView), stored._replace(sentences=sentences))

    def show(self, context: PanelContext, look: Look, refused: str = "", instead: str = "") -> None:
        """Draw the picture, the table and the open panel of a run.

        Args:
            refused: the reason why the picture cannot be drawn, which replaces it; empty if it can be drawn.
            instead: a text to show in place of the caption; empty to show the caption.
        """
        certificates, snapshots = context.retraining.certificates, context.retraining.snapshots
        caption, grid = self.screen.query_one(Caption), self.query_one(MultiplesView)
        state = (
            (self.picture, grid.room),
            (look, refused, instead),
            (context.trace, context.curve, min(curve.length for curve in context.trace.curves)),
            (context.predictions.outcomes is None, None if certificates is None else certificates.state),
            None if snapshots is None else snapshots.state,
        )
        if state == self._drawn:
            return
        self.dim(context.experiment)
        self._drawn = state
        self._show_picture(look, context.curve.learner, refused)
        law = self._law.headline if self._law is not None and self.has_law_chosen else ""
        caption.say(instead or law or self._caption_text(context, look, refused))
        board = self.query_one(Scoreboard)
        board.show(look)
        self.query_one(TableNote).show(look, board.about.value, board.about.line)
        self.query_one(Tabs).words = {panel_name: _tab_word(panel_name, context) for panel_name in ABOUT}
        if self.panel is not None:
            self.query_one(PanelView).show(self.panel, context)

    def show_stored(self, stored: StoredPictures | None, title: str) -> None:
        """Before an experiment runs, draw the charts that are stored from an earlier run of its preset.

        If the user has chosen the stored chart of a sweep (see `offer_law`), this chart is drawn. Otherwise,
        the stored curves are drawn. `title` is the title of the experiment.
        """
        is_law = self.has_law_chosen
        picture = None if stored is None else stored.law if is_law else stored.first
        if picture is None or not (is_law or self.has_first_chosen):
            return
        if self._drawn != (state := (picture, palette.current())):
            self._drawn = state
            if is_law:
                self._draw_law(picture)
            else:
                _draw_plot(self.query_one("#loss", ChartView), picture.plot(_note_of_key("run"), faint=True))
            self.screen.query_one(Caption).say(
                picture.headline if is_law else self._title_unless_shown(title)
            )

    def _caption_text(self, context: PanelContext, look: Look, refused: str) -> str:
        if not refused and context.predictions.outcomes is not None:
            return headline(context, look)
        return self._title_unless_shown(context.experiment.title if refused else headline(context, look))

    def _title_unless_shown(self, title: str) -> str:
        stands = self.panel is story.PANEL or any(
            banner.has_title(title) for banner in self.screen.query(Banner)
        )
        return "" if stands else title

    def is_of_picture(self, chart: ChartView) -> bool:
        return self.query_one("#picture") in chart.ancestors

    def redraw(self) -> None:
        """Draw the picture, the table and the panel again at the next frame, even if unchanged."""
        self._drawn = None

    def clear(
        self,
        title: str,
        learners: Mapping[str, int],
        kind_places: Mapping[str, KindPlace],
        pictures: Sequence[Picture] = (),
        refused: str = "",
    ) -> None:
        """Show a preview of a set-up, or the reason why it cannot run.

        Args:
            title: the title of the set-up.
            learners: number of each learner, by name. The number determines the learner's letter.
            kind_places: kind of each learner, by name. The kind determines the learner's colour.
            pictures: the pictures of the set-up.
            refused: the reason why the set-up cannot run; empty if it can.
        """
        self._drawn = None
        self.offer_pictures(pictures)
        self.query_one("#picture", ContentSwitcher).current = "loss"
        chart = self.query_one("#loss", ChartView)
        keys = f"{key('run')} runs it · {key('help')} explains the screen and its keys"
        chart.hint = refused or keys
        chart.clear()
        self.screen.query_one(Caption).say(self._title_unless_shown(title))
        self.query_one(Tabs).words = WORDS
        self.query_one(TableNote).say("")
        self.query_one(Scoreboard).name_learners(learners, kind_places)
        self.announce()

    def announce(self) -> None:
        """Describe the open panel, or show why it remains empty.

        The panel of the story shows the story. The theory panel shows the reason that the preset gives for
        its result, if there is one.
        """
        if self.panel is story.PANEL and self._of is not None:
            self.query_one(PanelView).show_words(story.story_text(self._of))
        elif self.panel is not None:
            lack = None if self._of is None else self.panel.lacks(self._of)
            about = f"Shown after a run ({key('run')}): {self.panel.about}."
            if self.panel is theory.PANEL and self._of is not None and self._of.reason:
                words = theory.reason_text(self._of).append(about, "dim")
                self.query_one(PanelView).show_words(words)
                return
            self.query_one(PanelView).announce(
                about if lack is None else f"{about}\n{_reason_and_remedy(lack)}"
            )

    def dim(self, experiment: Experiment) -> None:
        if experiment is not self._of:
            self._of = experiment
            lacks = {panel.name: lack for panel in PANELS if (lack := panel.lacks(experiment)) is not None}
            self.query_one(Tabs).dimmed = frozenset(lacks)
            self._hopeless = frozenset(name for name, lack in lacks.items() if lack.remedy is None)


def _tab_word(panel_name: str, context: PanelContext) -> str:
    tally = next((panel.tally(context) for panel in PANELS if panel.name == panel_name), "")
    return f"{WORDS[panel_name]} {tally}".strip()


def _note_of_key(action: str) -> str:
    return f"{key(action)} computes it"


def _title_with_place(title: str, context: PanelContext) -> str:
    return ", ".join(filter(None, (title, context.where)))


def _reason_and_remedy(lack: Lack) -> str:
    if lack.remedy is None:
        return lack.reason
    return f"{lack.reason} {key('remedy').capitalize()} {lack.remedy.words} and runs again."
