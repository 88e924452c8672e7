"""The live chart: a plotext frame, a braille picture and a legend, composed into strips."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from hadamard_tui.charts.colour import parse
from hadamard_tui.charts.frame import Frame, frame
from hadamard_tui.charts.legend import hidden_note, legend
from hadamard_tui.charts.raster import DOTS_ACROSS, PLAYHEAD, Picture, paint
from hadamard_tui.charts.scale import Scale
from hadamard_tui.charts.series import Axes, Series

_BLANK = ord(" ")
_WIDE = 0  # fills the second cell of a wide character
# There is a legend from this height on, of two lines, or of one for so many rows.
_LEGEND_FROM, _ROWS_PER_LEGEND_LINE = 8, 12


class ChartView(Widget):
    """Shows series on axes; redraws only the cells that changed, and nothing while it is out of sight."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart-view--frame",
        "chart-view--title",
        "chart-view--note",
        "chart-view--hint",
        "chart-view--playhead",
    }
    DEFAULT_CSS = """
    ChartView {
        height: 1fr;
        & > .chart-view--frame { color: $text-muted; }
        & > .chart-view--title { color: $text; text-style: bold; }
        & > .chart-view--note { color: $text-warning; }
        & > .chart-view--hint { color: $text-muted; text-style: italic; }
        & > .chart-view--playhead { color: $text; }
    }
    """

    hint: reactive[str] = reactive("Nothing to show yet")

    class Pointed(Message):
        """The mouse was pressed or dragged over the place x on the x-axis."""

        def __init__(self, x: float) -> None:
            super().__init__()
            self.x = x

    class Wheeled(Message):
        """The mouse wheel was turned over the place x on the x-axis, `up` or down."""

        def __init__(self, x: float, up: bool) -> None:
            super().__init__()
            self.x, self.up = x, up

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._series: Sequence[Series] = ()
        self._axes: Axes | None = None
        self._note = ""
        self._playhead: float | None = None
        self._area = range(0)  # the columns of the plot area
        self._stale = True
        # What is on the screen: code points and positions in `_styles`, both [height, width].
        self._glyphs = np.zeros((0, 0), dtype=np.uint32)
        self._inks = np.zeros((0, 0), dtype=np.int16)
        self._strips: list[Strip] = []
        self._styles: list[Style] = []
        self._ink_of: dict[object, int] = {}
        self._ground = Style.null()  # the widget's own style, which all others stand on

    def show(
        self, series: Sequence[Series], axes: Axes, note: str = "", playhead: float | None = None
    ) -> None:
        """Show these series from now on.

        Args:
            note: a short remark at the end of the legend.
            playhead: where on the x axis to draw a vertical line, in data units.
        """
        self._series, self._axes, self._note, self._playhead = series, axes, note, playhead
        if self._stale or not self._in_sight():
            self._forget()
        elif changed := self._redraw():
            self.refresh(*changed)

    @property
    def shown(self) -> tuple[Sequence[Series], Axes | None]:
        """The series and the axes that are shown; no axes while there is nothing."""
        return self._series, self._axes

    def clear(self) -> None:
        """Show nothing but the hint from now on."""
        self._series, self._axes, self._note, self._playhead = (), None, "", None
        self._area = range(0)
        self._forget()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and (x := self._x_at(event)) is not None:
            self.capture_mouse()
            self.post_message(self.Pointed(x))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self and (x := self._x_at(event)) is not None:
            self.post_message(self.Pointed(x))

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, up=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, up=False)

    def _wheel(self, event: events.MouseEvent, up: bool) -> None:
        if (x := self._x_at(event)) is not None:
            event.stop()
            self.post_message(self.Wheeled(x, up))

    def _x_at(self, event: events.MouseEvent) -> float | None:
        """The value on the x-axis under the mouse, the nearest one if it is beside the plot area."""
        if self._axes is None or not self._area:
            return None
        cell = min(max(event.x - self._area.start, 0), len(self._area) - 1)
        across = Scale(self._axes.x_limits, self._axes.x_log, len(self._area) * DOTS_ACROSS)
        return across.value((cell + 0.5) * DOTS_ACROSS - 0.5)

    def render_line(self, y: int) -> Strip:
        shape = self.size.height, self.size.width
        if self._stale or self._glyphs.shape != shape or self._ground != self.rich_style:
            self._redraw()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def watch_hint(self) -> None:
        self._forget()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drop_styles()
        self._forget()

    def _in_sight(self) -> bool:
        return bool(self.size) and self.is_on_screen and self.screen.is_current

    def _forget(self) -> None:
        """Compose anew when Textual next asks for a line, which it never does out of sight."""
        self._stale = True
        self.refresh()

    def _drop_styles(self) -> None:
        self._styles, self._ink_of, self._ground = [], {}, self.rich_style
        self._glyphs = np.zeros((0, 0), dtype=np.uint32)

    def _redraw(self) -> list[Region]:
        """Compose everything, rebuild the strips that changed, and say where they did."""
        if self._ground != self.rich_style:  # styles set in code are not announced by notify_style_update
            self._drop_styles()
        glyphs, inks = self._compose_cells()
        inks[glyphs == _BLANK] = 0  # a blank looks the same in any style: not a change
        if glyphs.shape == self._glyphs.shape:
            different = (glyphs != self._glyphs) | (inks != self._inks)
        else:
            different = np.ones(glyphs.shape, dtype=bool)
            self._strips = [Strip.blank(glyphs.shape[1])] * glyphs.shape[0]
        rows = np.flatnonzero(different.any(axis=1))
        for row, spread in zip(rows.tolist(), _spread(glyphs[rows], inks[rows]), strict=True):
            self._strips[row] = _strip(glyphs[row], spread, self._styles)
        self._glyphs, self._inks, self._stale = glyphs, inks, False
        return _regions(different, rows)

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        width, height = self.size
        glyphs = np.full((height, width), _BLANK, dtype=np.uint32)
        inks = np.full((height, width), self._ink("frame"), dtype=np.int16)
        if self._axes is None or not any(len(one.x) for one in self._series):
            hint = [cut for line in self.hint.split("\n") for cut in wrap(line, max(width - 2, 1)) or [""]]
            for row, line in enumerate(hint, start=(height - len(hint) + 1) // 2):
                self._write(glyphs, inks, row, (width - cell_len(line)) // 2, line, self._ink("hint"))
            return glyphs, inks

        # How many points are hidden is known only once they are painted. If the legend needs another line to
        # say so, the picture gets smaller: paint once more.
        most = max(2, height // _ROWS_PER_LEGEND_LINE) if height >= _LEGEND_FROM else 0
        names = legend(self._series, width, most, self._note)
        while True:
            surround = frame(self._axes, width, height - len(names))
            picture = paint(self._series, self._axes, surround.columns, surround.rows, self._playhead)
            note = " · ".join(filter(None, (self._note, hidden_note(picture.hidden))))
            lines, names = len(names), legend(self._series, width, most, note)
            if len(names) == lines:
                break

        self._area = range(surround.left, surround.left + surround.columns)
        self._place(glyphs, inks, surround, picture)
        for row, pieces in enumerate(names, start=height - len(names)):
            for piece in pieces:
                ink = self._ink("note") if piece.index < 0 else self._series_ink(piece.index)
                self._write(glyphs, inks, row, piece.column, piece.text, ink)
        return glyphs, inks

    def _place(self, glyphs: np.ndarray, inks: np.ndarray, surround: Frame, picture: Picture) -> None:
        """Put the frame and, inside it, the picture."""
        for row, line in enumerate(surround.lines):
            self._write(glyphs, inks, row, 0, line, self._ink("title" if row < surround.top - 1 else "frame"))
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
        inks[area][picture.glyphs == PLAYHEAD] = self._ink("playhead")

    def _write(
        self, glyphs: np.ndarray, inks: np.ndarray, row: int, column: int, text: str, ink: int
    ) -> None:
        """Write a line of text, cropped at both ends, one array element per cell."""
        if not 0 <= row < glyphs.shape[0]:
            return
        cells = _code_points(text)[max(-column, 0) : glyphs.shape[1] - column]
        span = np.s_[row, max(column, 0) : max(column, 0) + len(cells)]
        glyphs[span], inks[span] = cells, ink

    def _ink(self, part: str) -> int:
        """The style of a part of the chart, as a position in the list of styles."""
        if part not in self._ink_of:
            own = self.get_component_rich_style(f"chart-view--{part}")
            # The background is the widget's: that of a component lags behind when only the widget's changes.
            self._add(part, self._ground + Style(color=own.color, bold=own.bold, italic=own.italic))
        return self._ink_of[part]

    def _series_ink(self, index: int, faint: bool | None = None) -> int:
        one = self._series[index]
        key = one.colour, one.faint if faint is None else faint
        if key not in self._ink_of:
            self._add(key, self._ground + Style(color=parse(one.colour), dim=key[1]))
        return self._ink_of[key]

    def _add(self, key: object, style: Style) -> None:
        self._ink_of[key] = len(self._styles)
        self._styles.append(style)


def _code_points(text: str) -> np.ndarray:
    """One code point per cell; a wide character is followed by a filler, what has no width is left out."""
    if text.isascii():
        return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    cells: list[int] = []
    for letter in text:
        if width := cell_len(letter):
            cells += [ord(letter), _WIDE][:width]
    return np.array(cells, dtype=np.uint32)


def _spread(glyphs: np.ndarray, inks: np.ndarray) -> np.ndarray:
    """Blanks take the style of what is left of them: fewer changes of colour to send."""
    column = np.where(glyphs == _BLANK, 0, np.arange(glyphs.shape[1]))
    return np.take_along_axis(inks, np.maximum.accumulate(column, axis=1), axis=1)


def _strip(glyphs: np.ndarray, inks: np.ndarray, styles: Sequence[Style]) -> Strip:
    """One line, one segment per run of equal style."""
    text = glyphs.astype("<u4").tobytes().decode("utf-32-le")
    starts = [0, *(np.flatnonzero(np.diff(inks)) + 1).tolist()]
    segments = [
        Segment(text[start:end].replace(chr(_WIDE), ""), styles[inks[start]])
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    ]
    return Strip(segments, len(text))


def _regions(different: np.ndarray, rows: np.ndarray) -> list[Region]:
    """The least rectangles around the changes, one per block of neighbouring changed rows."""
    regions = []
    for block in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows.size else ():
        columns = np.flatnonzero(different[block[0] : block[-1] + 1].any(axis=0))
        left, top = int(columns[0]), int(block[0])
        regions.append(Region(left, top, int(columns[-1]) + 1 - left, len(block)))
    return regions
