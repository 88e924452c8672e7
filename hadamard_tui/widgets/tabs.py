"""The row of panels: their numbers and names, the one shown marked, those that do not apply dimmed."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hadamard_tui.keyboard.keymap import key
from hadamard_tui.panels import DIGITS

UNNAMED = "·"
"""What stands for a panel that has no digit, and for its name where there is no room."""


class Tabs(Widget):
    """One line. Where not all names fit, those without a digit have a sign, and then all but the chosen.

    Where such signs stand alone and there is room, the key that comes to them is shown.
    """

    DEFAULT_CSS = "Tabs { height: 1; background: $boost; color: $text-muted; link-style: none; }"

    names: reactive[tuple[str, ...]] = reactive(())
    chosen: reactive[str] = reactive("")
    dimmed: reactive[frozenset[str]] = reactive(frozenset())
    """The names of the panels that do not apply."""

    @property
    def starts(self) -> dict[int, int]:
        """In which column each panel's number stands."""
        starts, column = {}, 0
        for number, text, _ in labels(self.names, self.chosen, self.content_size.width):
            starts[number] = column
            column += cell_len(text) + 1
        return starts

    def render(self) -> Content:
        shown = labels(self.names, self.chosen, self.content_size.width)
        row = Content(" ").join(
            Content.from_markup(f"[@click=screen.panel({number}){self._style(number)}]$text[/]", text=text)
            for number, text, _ in shown
        )
        more = f" {key('view')} next"
        unnamed = any(text == UNNAMED for _, text, _ in shown)
        return row + more if unnamed and row.cell_length + len(more) <= self.content_size.width else row

    def _style(self, number: int) -> str:
        name = self.names[number - 1]
        return f"{' bold reverse' if name == self.chosen else ''}{' dim' if name in self.dimmed else ''}"


def labels(names: Sequence[str], chosen: str, width: int) -> list[tuple[int, str, bool]]:
    """Number, text and whether it is the chosen one, for every panel."""
    full = [f"{sign} {name}" for sign, name in zip(signs(len(names)), names, strict=True)]
    for named in (len(names), DIGITS + 1, 0):
        shown = [
            (number, text if number <= named or name == chosen else text[:1], name == chosen)
            for number, (text, name) in enumerate(zip(full, names, strict=True), start=1)
        ]
        if len(" ".join(text for _, text, _ in shown)) <= width:
            break
    return shown


def signs(count: int) -> list[str]:
    """What stands before each of so many names: its digit, or a sign where there are no more."""
    return [str(number % 10) if number <= DIGITS + 1 else UNNAMED for number in range(1, count + 1)]
