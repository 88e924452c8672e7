"""Heat map that is redrawn during a run, with a cursor that shows the value of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from rich.color import Color
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message

from hadamard_tui.charts.drawing.heat_sheet import (
    BLACK,
    GROUND,
    INKS,
    NOTE,
    TINTS,
    TITLE,
    WHITE,
    HeatSheet,
    cell_under,
    compose,
)
from hadamard_tui.charts.heat_map import Reading, read_cell
from hadamard_tui.colours import palette
from hadamard_tui.colours.palette import ColourMap, colour_map
from hadamard_tui.keyboard import motions
from hadamard_tui.widgets.cell_view import CellView

if TYPE_CHECKING:
    from hadamard_tui.charts.heat_map import HeatMap

_FEW_COLOURS = ("standard", "windows")  # Rich's names of systems with only 16 colours
_INVITATION = "arrow keys or mouse show values"


class HeatMapView(CellView, can_focus=True):
    """Heat map with a cursor, which the arrow keys and the mouse move."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(
            move_left="move(-1, 0)", move_right="move(1, 0)", move_up="move(0, 1)", move_down="move(0, -1)"
        )
    ]

    class Pointed(Message):
        """Message: the cursor of a heat map moved to another cell, or the value of its cell changed."""

        def __init__(self, view: HeatMapView, reading: Reading) -> None:
            super().__init__()
            self.view, self.reading = view, reading

    def __init__(
        self,
        *,
        ascii_only: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Show digits in place of colours if `ascii_only`, or if the terminal has too few colours."""
        super().__init__(name=name, id=id, classes=classes)
        self._ascii_only = ascii_only
        self._heat: HeatMap | None = None
        self._cursor: tuple[int, int] | None = None  # indices of the cell in x and in y
        # Centre of the visible part of a large map. It is None until the cursor leaves the visible part.
        self._place: tuple[float, float] | None = None
        self._sheet: HeatSheet | None = None
        self._ink_at = np.zeros(0, dtype=np.int16)  # for each pair of inks, its position in `_styles`, or −1

    def show(self, heat: HeatMap) -> None:
        """Show a heat map. The cursor moves to the cell that is nearest to its previous x and y."""
        if self._cursor is not None and self._heat is not None:
            x, y = self._heat.x[self._cursor[0]], self._heat.y[self._cursor[1]]
            self._cursor = heat.nearest(x, y)
        if self._heat is None or heat.focus != self._heat.focus:
            self._place = None
        self._heat = heat
        self._redraw_changes()

    def clear(self) -> None:
        self._heat, self._cursor, self._place, self._sheet = None, None, None, None
        self._discard_cells()

    def take_cursor_away(self) -> None:
        self._cursor = self._place = None

    @property
    def reading(self) -> Reading | None:
        if self._heat is None or self._cursor is None:
            return None
        return read_cell(self._heat, *self._cursor)

    def action_move(self, right: int, up: int) -> None:
        """Move the cursor, or show it if it is hidden.

        A hidden cursor appears at the focus of the map, or in the centre if the map has no focus.
        """
        heat = self._heat
        if heat is None:
            return
        shape = len(heat.x), len(heat.y)
        up = -up if heat.y_down else up
        if self._cursor is None and heat.focus is not None:
            self._point_at_cell(*heat.nearest(*heat.focus))
        elif self._cursor is None:
            self._point_at_cell(shape[0] // 2, shape[1] // 2)
        else:
            self._point_at_cell(
                min(max(self._cursor[0] + right, 0), shape[0] - 1),
                min(max(self._cursor[1] + up, 0), shape[1] - 1),
            )

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._point_at_mouse(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._point_at_mouse(event)

    def _point_at_mouse(self, event: events.MouseEvent) -> None:
        sheet, heat = self._sheet, self._heat
        if heat is None or sheet is None:
            return
        column, row = event.x - sheet.left, event.y - sheet.top
        if 0 <= column < sheet.columns and 0 <= row < sheet.rows:
            ix, iy = cell_under(sheet.shown, sheet.columns, sheet.rows, column, row)
            self._point_at_cell(sheet.first[0] + ix, sheet.first[1] + iy)

    def _point_at_cell(self, ix: int, iy: int) -> None:
        if self._cursor != (ix, iy):
            self._cursor = ix, iy
            if (sheet := self._sheet) is not None and self._heat is not None:
                across, up = ix - sheet.first[0], iy - sheet.first[1]
                if not (0 <= across < len(sheet.shown.x) and 0 <= up < len(sheet.shown.y)):
                    self._place = float(self._heat.x[ix]), float(self._heat.y[iy])
            self._redraw_changes()
            if (reading := self.reading) is not None:
                self.post_message(self.Pointed(self, reading))

    @property
    def _cell_colours(self) -> ColourMap | None:
        if self._ascii_only or self.app.no_color or self.app.console.color_system in _FEW_COLOURS:
            return None
        return colour_map(palette.current().dark_is_more)

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        if self._heat is None:
            return self._hint_cells()
        reading = self.reading
        foot = _INVITATION if reading is None else reading.text
        self._sheet = compose(self._heat, *self.size, self._cell_colours, self._cursor, foot, self._place)
        cells = self._sheet.cells
        return cells.glyphs, self._pair_styles(cells.fore.astype(np.int32) * INKS + cells.back)

    def _pair_styles(self, pairs: np.ndarray) -> np.ndarray:
        """Return the index in `_styles` of the style for each pair of foreground and background ink.

        Missing styles are appended to `_styles`.
        """
        self._part_ink("frame")  # style 0 is for blanks
        if "heat" not in self._ink_of:
            self._ink_of["heat"] = 0
            self._ink_at = np.full(INKS * INKS, -1, dtype=np.int16)
        styles: np.ndarray = self._ink_at[pairs]
        for pair in np.unique(pairs[styles < 0]).tolist():
            self._ink_at[pair] = self._pair_ink(*divmod(pair, INKS))
        styles[styles < 0] = self._ink_at[pairs[styles < 0]]
        return styles

    def _pair_ink(self, fore: int, back: int) -> int:
        colours = self._cell_colours
        if fore >= TINTS and back == GROUND:
            parts = {TITLE: "title", NOTE: "note"}
            return self._part_ink(parts.get(fore, "frame"))
        assert colours is not None
        rgb = {ink: Color.from_rgb(*colours.tints[ink].tolist()) for ink in {fore, back} if ink < TINTS}
        rgb |= {BLACK: Color.from_rgb(0, 0, 0), WHITE: Color.from_rgb(255, 255, 255)}
        self._add_style((fore, back), self._ground + Style(color=rgb[fore], bgcolor=rgb.get(back)))
        return self._ink_of[fore, back]
