"""The row of panels: their numbers and names, the one shown marked, those that do not apply dimmed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hadamard_tui.keyboard.keymap import key
from hadamard_tui.panels import DIGITS

UNNAMED = "·"
"""What stands for a panel that has no digit, and for its name where there is no room."""


class Tabs(Widget):
    """One line. Where not all names fit, those without a digit have a sign; then the names of panels that do
    not apply go, and then others from the left on, as the last ones explain. The chosen one keeps its name.

    Where such signs stand alone and there is room, the key that comes to them is shown.
    """

    DEFAULT_CSS = "Tabs { height: 1; background: $boost; color: $text-muted; link-style: none; }"

    names: reactive[tuple[str, ...]] = reactive(())
    chosen: reactive[str] = reactive("")
    dimmed: reactive[frozenset[str]] = reactive(frozenset())
    """The names of the panels that do not apply."""

    @property
    def _labels(self) -> list[tuple[int, str, bool]]:
        """What is shown, with room for the key to those that have no name."""
        width = self.content_size.width
        shown = labels(self.names, self.chosen, width, self.dimmed)
        if any(text == UNNAMED for _, text, _ in shown):
            return labels(self.names, self.chosen, width - len(self._more), self.dimmed)
        return shown

    @property
    def _more(self) -> str:
        return f" {key('view')} next"

    @property
    def starts(self) -> dict[int, int]:
        """In which column each panel's number stands."""
        starts, column = {}, 0
        for number, text, _ in self._labels:
            starts[number] = column
            column += cell_len(text) + 1
        return starts

    def render(self) -> Content:
        shown = self._labels
        row = Content(" ").join(
            Content.from_markup(f"[@click=screen.panel({number}){self._style(number)}]$text[/]", text=text)
            for number, text, _ in shown
        )
        unnamed = any(text == UNNAMED for _, text, _ in shown)
        has_room = row.cell_length + len(self._more) <= self.content_size.width
        return row + self._more if unnamed and has_room else row

    def _style(self, number: int) -> str:
        name = self.names[number - 1]
        return f"{' bold reverse' if name == self.chosen else ''}{' dim' if name in self.dimmed else ''}"


def labels(
    names: Sequence[str], chosen: str, width: int, dimmed: Collection[str] = ()
) -> list[tuple[int, str, bool]]:
    """Number, text and whether it is the chosen one, for every panel."""
    named = [*range(1, len(names) + 1)]
    shown = _labels(names, chosen, named)
    while named and len(" ".join(text for _, text, _ in shown)) > width:
        if named[-1] > DIGITS + 1:
            named = [number for number in named if number <= DIGITS + 1]
        else:
            named.remove(next((one for one in named if names[one - 1] in dimmed), named[0]))
        shown = _labels(names, chosen, named)
    return shown


def _labels(names: Sequence[str], chosen: str, named: Collection[int]) -> list[tuple[int, str, bool]]:
    """The same with the names of some, by their numbers, and of the chosen one."""
    return [
        (number, f"{sign} {name}" if number in named or name == chosen else sign, name == chosen)
        for number, (sign, name) in enumerate(zip(signs(len(names)), names, strict=True), start=1)
    ]


def signs(count: int) -> list[str]:
    """What stands before each of so many names: its digit, or a sign where there are no more."""
    return [str(number % 10) if number <= DIGITS + 1 else UNNAMED for number in range(1, count + 1)]
