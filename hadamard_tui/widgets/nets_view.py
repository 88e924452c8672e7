"""Live picture of nets: edges as bright as their weights."""

from __future__ import annotations

import numpy as np
from rich.style import Style

from hadamard_tui.charts.nets import LEVELS, NAME, NODES, NOTE, TITLE, Nets, draw
from hadamard_tui.colours import palette
from hadamard_tui.colours.contrast import mixed, parse
from hadamard_tui.widgets.cell_view import CellView

PARTS = {TITLE: "title", NAME: "title", NODES: "title", NOTE: "frame"}


class NetsView(CellView):
    """Shows nets side by side."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._nets: Nets | None = None

    def show(self, nets: Nets) -> None:
        """Show these nets."""
        self._nets = nets
        self._changed()

    def _compose_cells(self) -> tuple[np.ndarray, np.ndarray]:
        if self._nets is None:
            return self._hinted()
        self._ink("frame")
        drawn = draw(self._nets, *self.size)
        inks = np.zeros_like(drawn.inks)
        for ink in np.unique(drawn.inks).tolist():
            inks[drawn.inks == ink] = self._ink(PARTS[ink]) if ink < 0 else self._edge(*divmod(ink, LEVELS))
        return drawn.glyphs, inks

    def _edge(self, net: int, level: int) -> int:
        """Return the style of a net's edges at a level."""
        assert self._nets is not None, "there are no edges without nets"
        key = self._nets.nets[net].colour, level
        if key not in self._ink_of:
            share = 0.8 * (1 - (level + 1) / LEVELS)
            self._add(key, self._ground + Style(color=parse(mixed(key[0], palette.current().ground, share))))
        return self._ink_of[key]
