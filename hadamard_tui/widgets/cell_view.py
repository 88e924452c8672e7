"""Base class of widgets that redraw only changed cells, and a widget that shows nets."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from hadamard_tui.charts.drawing.nets import LEVELS, NAME, NODES, NOTE, TITLE, Nets, draw
from hadamard_tui.charts.drawing.raster import runs, write_text
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import mixed, parse_colour

_BLANK = ord(" ")


class CellView(Widget):
    """Widget that redraws only changed cells, and draws nothing while it is out of sight.

    A subclass returns all cells from `_compose_cells`, and calls `_redraw_changes` when cells may change.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cell-view--frame",
        "cell-view--title",
        "cell-view--note",
        "cell-view--hint",
    }
    DEFAULT_CSS = """
    CellView {
        height: 1fr;
        & > .cell-view--frame { color: $text-muted; }
        & > .cell-view--title { color: $text; text-style: bold; }
        & > .cell-view--note { color: $text-warning; }
        & > .cell-view--hint { color: $text-muted; text-style: italic; }
    }
    """

    hint: reactive[str] = reactive("Nothing to show yet")

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._stale = True
        # Screen content: code points, and positions of the styles in `_styles`, both [height, width].
        self._glyphs = np.zeros((0, 0), dtype=np.uint32)
        self._inks = np.zeros((0, 0), dtype=np.int16)
        self._strips: list[Strip] = []
        self._styles: list[Style] = []
        self._own_ground: list[bool] = []  # for each style, whether it has its own background
        self._ink_of: dict[object, int] = {}
        self._ground = Style.null()  # the widget's style, from which all other styles are derived

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the code points of all cells, and the indices of their styles in `_styles`.

        Both arrays are [height, width].
        """
        raise NotImplementedError

    def _redraw_changes(self) -> None:
        """Compose the widget's cells again, and draw the cells that have changed."""
        if self._stale or not self._is_in_sight():
            self._discard_cells()
        elif changed := self._changed_regions():
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        shape = self.size.height, self.size.width
        if self._stale or self._glyphs.shape != shape or self._ground != self.rich_style:
            self._changed_regions()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def watch_hint(self) -> None:
        self._discard_cells()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drop_styles()
        self._discard_cells()

    def _is_in_sight(self) -> bool:
        return bool(self.size) and self.is_on_screen and self.screen.is_current

    def _discard_cells(self) -> None:
        """Discard all cells of the widget. They are composed again when it is next drawn and visible."""
        self._stale = True
        self.refresh()

    def _drop_styles(self) -> None:
        self._styles, self._own_ground, self._ink_of, self._ground = [], [], {}, self.rich_style
        self._glyphs = np.zeros((0, 0), dtype=np.uint32)

    def _changed_regions(self) -> list[Region]:
        if self._ground != self.rich_style:  # Textual does not notify of styles set in code
            self._drop_styles()
        glyphs, inks = self._compose_cells()
        inks[glyphs == _BLANK] = 0  # blanks look the same in every style, so their style needs no redraw
        if glyphs.shape == self._glyphs.shape:
            different = (glyphs != self._glyphs) | (inks != self._inks)
        else:
            different = np.ones(glyphs.shape, dtype=bool)
            self._strips = [Strip.blank(glyphs.shape[1])] * glyphs.shape[0]
        rows = np.flatnonzero(different.any(axis=1))
        has_ground = np.array(self._own_ground)
        for row, spread in zip(
            rows.tolist(), _styles_with_blanks(glyphs[rows], inks[rows], has_ground), strict=True
        ):
            self._strips[row] = _strip_of_cells(glyphs[row], spread, self._styles)
        self._glyphs, self._inks, self._stale = glyphs, inks, False
        return _changed_blocks(different, rows)

    def _empty_cells(self) -> tuple[np.ndarray, np.ndarray]:
        shape = self.size.height, self.size.width
        return np.full(shape, _BLANK, dtype=np.uint32), np.full(
            shape, self._part_ink("frame"), dtype=np.int16
        )

    def _hint_cells(self) -> tuple[np.ndarray, np.ndarray]:
        (width, height), (glyphs, inks) = self.size, self._empty_cells()
        hint = [cut for line in self.hint.split("\n") for cut in wrap(line, max(width - 2, 1)) or [""]]
        for row, line in enumerate(hint, start=(height - len(hint) + 1) // 2):
            self._write_text(glyphs, inks, row, (width - cell_len(line)) // 2, line, self._part_ink("hint"))
        return glyphs, inks

    def _write_text(
        self, glyphs: np.ndarray, inks: np.ndarray, row: int, column: int, text: str, ink: int
    ) -> None:
        """Write text into a row, starting at `column`. `ink` is the index of its style in `_styles`."""
        if (span := write_text(glyphs, row, column, text)) is not None:
            inks[row, span] = ink

    def _part_ink(self, part: str) -> int:
        """Return the index in `_styles` of the style for a part of a chart, such as "frame"."""
        if part not in self._ink_of:
            style = self.get_component_rich_style(f"cell-view--{part}")
            # Use the widget's background. If only that changes, the component's background remains outdated.
            self._add_style(
                part, self._ground + Style(color=style.color, bold=style.bold, italic=style.italic)
            )
        return self._ink_of[part]

    def _add_style(self, key: object, style: Style) -> None:
        self._ink_of[key] = len(self._styles)
        self._styles.append(style)
        self._own_ground.append(style.bgcolor != self._ground.bgcolor)


def _styles_with_blanks(glyphs: np.ndarray, inks: np.ndarray, has_ground: np.ndarray) -> np.ndarray:
    """Return the style indices of cells. A blank gets the style of the nearest character on its left.

    This reduces the number of colour codes in the output.

    Args:
        has_ground: for each style, whether the style sets a background. A blank after a character with such a
            style keeps its original style.
    """
    blank = glyphs == _BLANK
    keeps = ~blank
    keeps[:, 1:] |= (keeps & has_ground[inks])[:, :-1]
    column = np.where(keeps, np.arange(glyphs.shape[1]), 0)
    return np.take_along_axis(inks, np.maximum.accumulate(column, axis=1), axis=1)


def _strip_of_cells(glyphs: np.ndarray, inks: np.ndarray, styles: Sequence[Style]) -> Strip:
    return Strip([Segment(text, styles[ink]) for text, ink in runs(glyphs, inks)], len(glyphs))


def _changed_blocks(different: np.ndarray, rows: np.ndarray) -> list[Region]:
    """Return a rectangle around the changes in each block of adjacent changed rows."""
    regions = []
    for block in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows.size else ():
        columns = np.flatnonzero(different[block[0] : block[-1] + 1].any(axis=0))
        column, row = int(columns[0]), int(block[0])
        regions.append(Region(column, row, int(columns[-1]) + 1 - column, len(block)))
    return regions


PARTS = {TITLE: "title", NAME: "title", NODES: "title", NOTE: "frame"}


class NetsView(CellView):
    """Widget that shows neural nets side by side."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._nets: Nets | None = None

    def show(self, nets: Nets) -> None:
        self._nets = nets
        self._redraw_changes()

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        if self._nets is None:
            return self._hint_cells()
        self._part_ink("frame")
        drawn = draw(self._nets, *self.size)
        inks = np.zeros_like(drawn.inks)
        for ink in np.unique(drawn.inks).tolist():
            inks[drawn.inks == ink] = (
                self._part_ink(PARTS[ink]) if ink < 0 else self._edge_ink(*divmod(ink, LEVELS))
            )
        return drawn.glyphs, inks

    def _edge_ink(self, net: int, level: int) -> int:
        """Return the index in `_styles` of the style for a net's edges of brightness `level`."""
        assert self._nets is not None, "there are no edges without nets"
        key = self._nets.nets[net].colour, level
        if key not in self._ink_of:
            share = 0.8 * (1 - (level + 1) / LEVELS)
            self._add_style(
                key, self._ground + Style(color=parse_colour(mixed(key[0], palette.current().ground, share)))
            )
        return self._ink_of[key]
