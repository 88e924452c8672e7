"""The row of pictures: the run as it goes on, and what the experiment draws of its results."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hadamard_tui.keyboard.keymap import key
from hadamard_tui.widgets.tabs import UNNAMED

LEAST = 8
"""Cells of a name at least, where not all names fit."""


class PictureRow(Widget):
    """One line of names, the one that is shown marked; out of sight where there is a single one."""

    DEFAULT_CSS = """
    PictureRow { height: 1; background: $boost; color: $text-muted; link-style: none; display: none; }
    """

    names: reactive[tuple[str, ...]] = reactive(())
    chosen: reactive[int] = reactive(0)

    def watch_names(self) -> None:
        """Be in sight where there is something to choose."""
        self.display = len(self.names) > 1

    def render(self) -> Content:
        hint = f" {key('next_picture')} next"
        shown = texts(self.names, self.chosen, self.content_size.width - cell_len(hint))
        named = (_linked(number, text, number == self.chosen) for number, text in enumerate(shown))
        return Content(" ").join(named) + hint


def texts(names: Sequence[str], chosen: int, width: int) -> list[str]:
    """The names in so many cells: as they are, or the others cut, or where they are many with a sign each."""
    others, wanted = max(len(names) - 1, 1), cell_len(names[chosen])
    room = width - others
    if sum(map(cell_len, names)) <= room:
        return list(names)
    own = min(wanted, max(room - others * LEAST, room // 2))
    each = (room - own) // others
    if each < LEAST:
        own, each = min(wanted, room - others), 0
    cut = [_cut(name, each) if each else UNNAMED for name in names]
    cut[chosen] = _cut(names[chosen], own)
    return cut


def _linked(number: int, name: str, chosen: bool) -> Content:
    style = " bold reverse" if chosen else ""
    return Content.from_markup(f"[@click=screen.picture({number}){style}]$text[/]", text=name)


def _cut(name: str, width: int) -> str:
    return name if cell_len(name) <= width else f"{set_cell_size(name, width - 1).rstrip()}…"
