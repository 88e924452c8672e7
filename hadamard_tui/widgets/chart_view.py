"""Chart of series (curves) that is redrawn during a run, and a grid of small charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import structs
from rich.style import Style
from textual import events
from textual.containers import Grid
from textual.message import Message

from hadamard_tui.charts.drawing.chart_sheet import compose
from hadamard_tui.charts.drawing.free_space import place_sentences
from hadamard_tui.charts.drawing.raster import BLANK, DOTS_ACROSS, PLAYHEAD, Raster
from hadamard_tui.charts.scales import Scale
from hadamard_tui.colours.contrast import faded, legible, parse_colour
from hadamard_tui.widgets.cell_view import CellView

if TYPE_CHECKING:
    from hadamard_tui.charts.drawing.frame import Frame
    from hadamard_tui.charts.plots.series_builder import Plot
    from hadamard_tui.charts.series import Axes, Series


MOST_LEGEND_LINES = 2
"""Maximum number of legend lines. Names that do not fit are in the table of learners."""

BETWEEN_LEGENDS = 4
"""Number of blank columns at the right end of a legend beside another chart.

With fewer columns, two legends would look like one, as entries of one legend are 3 columns apart.
"""


class ChartView(CellView):
    """Chart of series (curves) that is redrawn during a run."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"cell-view--playhead"}
    DEFAULT_CSS = """
    ChartView > .cell-view--playhead { color: $text; }
    """

    class Pointed(Message):
        """Message: the mouse was pressed or dragged at the value x of the x-axis."""

        def __init__(self, chart: ChartView, x: float) -> None:
            super().__init__()
            self.chart, self.x = chart, x

    class Wheeled(Message):
        """Message: the mouse wheel was turned at the value x of the x-axis, upwards if `up`."""

        def __init__(self, chart: ChartView, x: float, up: bool) -> None:
            super().__init__()
            self.chart, self.x, self.up = chart, x, up

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._series: Sequence[Series] = ()
        self._axes: Axes | None = None
        self._note = ""
        self._sentences: Sequence[str] = ()
        self._playhead: float | None = None
        self._area = range(0)  # columns of the plot area
        self._legend_lines = 1
        self.legend_margin = 0
        """Number of blank columns at the right end of the legend."""

    def show(
        self,
        series: Sequence[Series],
        axes: Axes,
        note: str = "",
        playhead: float | None = None,
        sentences: Sequence[str] = (),
    ) -> None:
        """Show series as curves of the chart.

        Args:
            note: a short remark at the end of the legend.
            playhead: x of a vertical line, in data units; None draws no line.
            sentences: texts to write in empty parts of the chart, if there is room for all of them.
        """
        self._series, self._axes, self._note, self._playhead = series, axes, note, playhead
        self._sentences = sentences
        self._redraw_changes()

    @property
    def shown(self) -> tuple[Sequence[Series], Axes | None]:
        return self._series, self._axes

    def clear(self) -> None:
        self._series, self._axes, self._note, self._playhead = (), None, "", None
        self._sentences = ()
        self._area = range(0)
        self._discard_cells()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and (x := self._x_at(event)) is not None:
            self.capture_mouse()
            self.post_message(self.Pointed(self, x))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self and (x := self._x_at(event)) is not None:
            self.post_message(self.Pointed(self, x))

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._post_wheel(event, up=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._post_wheel(event, up=False)

    def _post_wheel(self, event: events.MouseEvent, up: bool) -> None:
        if (x := self._x_at(event)) is not None:
            event.stop()
            self.post_message(self.Wheeled(self, x, up))

    def _x_at(self, event: events.MouseEvent) -> float | None:
        """Return the x under the mouse, or the nearest x if the mouse is beside the plot area."""
        if self._axes is None or not self._area:
            return None
        cell = min(max(event.x - self._area.start, 0), len(self._area) - 1)
        across = Scale(self._axes.x_limits, self._axes.x_log, len(self._area) * DOTS_ACROSS)
        return across.value((cell + 0.5) * DOTS_ACROSS - 0.5)

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        if self._axes is None or not any(len(series.x) for series in self._series):
            return self._hint_cells()
        (width, height), (glyphs, inks) = self.size, self._empty_cells()
        surround, picture, legend_rows, self._legend_lines = compose(
            self._series,
            self._axes,
            width,
            height,
            self._note,
            self._playhead,
            min(self._legend_lines, MOST_LEGEND_LINES),
            MOST_LEGEND_LINES,
            self.legend_margin,
        )
        self._area = range(surround.left, surround.left + surround.columns)
        self._place_picture(glyphs, inks, surround, picture)
        for row, legend_row in enumerate(legend_rows, start=height - self._legend_lines):
            for piece in legend_row:
                ink = self._part_ink("note") if piece.index < 0 else self._text_ink(piece.index)
                self._write_text(glyphs, inks, row, piece.column, piece.text, ink)
        return glyphs, inks

    def _place_picture(self, glyphs: np.ndarray, inks: np.ndarray, surround: Frame, picture: Raster) -> None:
        for row, line in enumerate(surround.lines):
            self._write_text(glyphs, inks, row, 0, line, self._part_ink("frame"))
        inks[0, surround.title.start : surround.title.stop] = self._part_ink("title")
        area = np.s_[
            surround.top : surround.top + surround.rows, surround.left : surround.left + surround.columns
        ]
        glyphs[area] = picture.glyphs
        table = np.array(
            [
                [self._series_ink(index, faint) for index in range(len(self._series))]
                for faint in (False, True)
            ]
        )
        inks[area] = np.where(
            picture.colours >= 0, table[picture.faint.astype(int), picture.colours], inks[area]
        )
        inks[area][picture.glyphs == PLAYHEAD] = self._part_ink("playhead")
        for block in place_sentences(self._sentences, picture.glyphs == BLANK):
            for row, line in enumerate(block.lines, start=surround.top + block.row):
                self._write_text(
                    glyphs, inks, row, surround.left + block.column, line, self._part_ink("title")
                )

    def _series_ink(self, index: int, faint: bool) -> int:
        colour = self._series[index].colour
        return self._colour_ink(faded(colour) if faint else colour)

    def _text_ink(self, index: int) -> int:
        return self._colour_ink(legible(self._series[index].colour))

    def _colour_ink(self, colour: str) -> int:
        if colour not in self._ink_of:
            self._add_style(colour, self._ground + Style(color=parse_colour(colour)))
        return self._ink_of[colour]


LEAST_WIDTH, LEAST_HEIGHT = 26, 8
"""Minimum size of a chart in cells, if there is enough room for it."""


class MultiplesView(Grid):
    """Grid of charts. Charts that are not needed remain in the grid, but are hidden."""

    DEFAULT_CSS = """
    MultiplesView { grid-gutter: 0 1; height: 1fr; }
    """

    @property
    def room(self) -> int:
        width, height = self.size
        return max(1, width // LEAST_WIDTH) * max(1, height // LEAST_HEIGHT)

    @property
    def charts(self) -> list[ChartView]:
        return list(self.query_children(ChartView))

    def show(
        self,
        plots: Sequence[Plot],
        draw: Callable[[ChartView, Plot], None],
        note: str = "",
        stacked: bool = False,
    ) -> None:
        """Show one chart per plot, each drawn by `draw`. The note is shown below the last chart.

        With `stacked`, the charts are shown one above the other, provided that each gets at least
        LEAST_HEIGHT rows.
        """
        charts = self.charts
        if len(plots) > len(charts):
            new = [ChartView() for _ in plots[len(charts) :]]
            self.mount_all(new)
            charts = [*charts, *new]
        across = min(len(plots), max(1, self.size.width // LEAST_WIDTH))
        if stacked and self.size.height >= len(plots) * LEAST_HEIGHT:
            across = 1
        down = -(-len(plots) // across)
        across = -(-len(plots) // down)  # so that all rows have about the same number of charts
        if self.styles.grid_size_columns != across:
            self.styles.grid_size_columns = across
        for number, chart in enumerate(charts):
            chart.display = number < len(plots)
            chart.legend_margin = BETWEEN_LEGENDS if (number + 1) % across else 0
        for chart, plot in zip(charts, plots if stacked else _labelled_once(plots), strict=False):
            last = chart is charts[len(plots) - 1]
            screen_note = " · ".join(filter(None, (plot.screen_note, note if last else "")))
            draw(chart, plot._replace(screen_note=screen_note))


def _labelled_once(plots: Sequence[Plot]) -> Iterator[Plot]:
    """Yield charts of one measure without labels of the y-axis, so that their titles have more room.

    The title of the first chart also names the measure.
    """
    for number, plot in enumerate(plots):
        axes = plot.axes
        title = axes.title if number else f"{axes.title}: {axes.y_label}"
        yield plot._replace(axes=structs.replace(axes, title=title, y_label=""))
