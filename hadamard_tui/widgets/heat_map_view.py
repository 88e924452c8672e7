"""The live heat map, with a cursor that says the value of a cell."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from rich.color import Color
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message

from hadamard_tui.charts.colour_map import STEPS, ColourMap, colour_map
from hadamard_tui.charts.half_blocks import BLACK, GROUND, INKS, NOTE, TITLE, WHITE, cell_under
from hadamard_tui.charts.heat_map import HeatMap
from hadamard_tui.charts.heat_reading import Reading, read
from hadamard_tui.charts.heat_sheet import Sheet, compose
from hadamard_tui.keyboard.motions import motions
from hadamard_tui.looks import palette
from hadamard_tui.widgets.cell_view import CellView

_FEW_COLOURS = ("standard", "windows")
_INVITATION = "arrow keys or mouse: values"


class HeatMapView(CellView, can_focus=True):
    """Shows a heat map; arrow keys and the mouse move a cursor over its cells."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(
            move_left="move(-1, 0)", move_right="move(1, 0)", move_up="move(0, 1)", move_down="move(0, -1)"
        )
    ]

    class Pointed(Message):
        """The cursor was put on another cell, or its value changed."""

        def __init__(self, reading: Reading) -> None:
            super().__init__()
            self.reading = reading

    def __init__(
        self,
        *,
        ascii_only: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """A view that draws with digits if `ascii_only`, or if the terminal has too few colours."""
        super().__init__(name=name, id=id, classes=classes)
        self._ascii_only = ascii_only
        self._heat: HeatMap | None = None
        self._cursor: tuple[int, int] | None = None  # positions among x and y
        self._sheet: Sheet | None = None
        self._ink_at = np.zeros(0, dtype=np.int16)  # positions in `_styles` by pair of inks, −1 for none yet

    def show(self, heat: HeatMap) -> None:
        """Show this heat map from now on; the cursor stays where it is."""
        self._heat = heat
        if self._cursor is not None:
            self._cursor = min(self._cursor[0], len(heat.x) - 1), min(self._cursor[1], len(heat.y) - 1)
        self._changed()

    def clear(self) -> None:
        """Show nothing but the hint from now on."""
        self._heat, self._cursor, self._sheet = None, None, None
        self._forget()

    def take_cursor_away(self) -> None:
        """Have no cursor until a person asks for one."""
        self._cursor = None

    @property
    def reading(self) -> Reading | None:
        """What the cursor is on."""
        if self._heat is None or self._cursor is None:
            return None
        return read(self._heat, *self._cursor)

    def action_move(self, right: int, up: int) -> None:
        """Put the cursor so many cells further; into the middle if there is none."""
        if self._heat is None:
            return
        shape = len(self._heat.x), len(self._heat.y)
        if self._cursor is None:
            self._point(shape[0] // 2, shape[1] // 2)
        else:
            self._point(
                min(max(self._cursor[0] + right, 0), shape[0] - 1),
                min(max(self._cursor[1] + up, 0), shape[1] - 1),
            )

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._point_at(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._point_at(event)

    def _point_at(self, event: events.MouseEvent) -> None:
        sheet, heat = self._sheet, self._heat
        if heat is None or sheet is None:
            return
        column, row = event.x - sheet.left, event.y - sheet.top
        if 0 <= column < sheet.columns and 0 <= row < sheet.rows:
            self._point(*cell_under(heat, sheet.columns, sheet.rows, column, row))

    def _point(self, ix: int, iy: int) -> None:
        if self._cursor != (ix, iy):
            self._cursor = ix, iy
            self._changed()
            if (reading := self.reading) is not None:
                self.post_message(self.Pointed(reading))

    @property
    def _colours(self) -> ColourMap | None:
        if self._ascii_only or self.app.no_color or self.app.console.color_system in _FEW_COLOURS:
            return None
        return colour_map(palette.current().dark_is_more)

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        if self._heat is None:
            return self._hinted()
        reading = self.reading
        foot = _INVITATION if reading is None else reading.text
        self._sheet = compose(self._heat, *self.size, self._colours, self._cursor, foot)
        cells = self._sheet.cells
        return cells.glyphs, self._styled(cells.fore.astype(np.int32) * INKS + cells.back)

    def _styled(self, pairs: np.ndarray) -> np.ndarray:
        """Positions in the list of styles of pairs of inks; a style is made when its pair is first seen."""
        self._ink("frame")  # blanks have the first of the styles
        if "heat" not in self._ink_of:
            self._ink_of["heat"] = 0
            self._ink_at = np.full(INKS * INKS, -1, dtype=np.int16)
        found: np.ndarray = self._ink_at[pairs]
        for pair in np.unique(pairs[found < 0]).tolist():
            self._ink_at[pair] = self._pair_ink(*divmod(pair, INKS))
        found[found < 0] = self._ink_at[pairs[found < 0]]
        return found

    def _pair_ink(self, fore: int, back: int) -> int:
        colours = self._colours
        if fore >= STEPS and back == GROUND:
            parts = {TITLE: "title", NOTE: "note"}
            return self._ink(parts.get(fore, "frame"))
        assert colours is not None
        rgb = {ink: Color.from_rgb(*colours.colours[ink].tolist()) for ink in {fore, back} if ink < STEPS}
        rgb |= {BLACK: Color.from_rgb(0, 0, 0), WHITE: Color.from_rgb(255, 255, 255)}
        self._add((fore, back), self._ground + Style(color=rgb[fore], bgcolor=rgb.get(back)))
        return self._ink_of[fore, back]
