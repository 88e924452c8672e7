"""The row of pictures: the run as it goes on, and what the experiment draws of its results."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

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
        room = self.content_size.width - len(self.names)
        if sum(map(cell_len, self.names)) > room:
            room -= cell_len(self.names[self.chosen])
        each = max(LEAST, room // max(len(self.names) - 1, 1))
        return Content(" ").join(
            _linked(number, name if number == self.chosen else _cut(name, each), number == self.chosen)
            for number, name in enumerate(self.names)
        )


def _linked(number: int, name: str, chosen: bool) -> Content:
    style = " bold reverse" if chosen else ""
    return Content.from_markup(f"[@click=screen.picture({number}){style}]$text[/]", text=name)


def _cut(name: str, width: int) -> str:
    return name if cell_len(name) <= width else f"{set_cell_size(name, width - 1).rstrip()}…"
