"""Row of tabs: a word per panel, the open one marked, inapplicable ones dimmed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hadamard_tui.keyboard import key

GAP = 2
"""Blanks between two words."""


class Tab(NamedTuple):
    """A visible tab: its number among all, its word, and the column where the word begins."""

    number: int
    word: str
    column: int


class Tabs(Widget):
    """One line of words. If not all fit, it states how many more there are, and the key that shows them."""

    DEFAULT_CSS = "Tabs { height: 1; background: $boost; color: $text-muted; link-style: none; }"

    names: reactive[tuple[str, ...]] = reactive(())
    chosen: reactive[str] = reactive("")
    words: reactive[Mapping[str, str]] = reactive[Mapping[str, str]](dict)
    """Words on the tabs, by name."""

    dimmed: reactive[frozenset[str]] = reactive(frozenset())
    """Names of the panels that do not apply."""

    @property
    def in_sight(self) -> list[Tab]:
        """Tabs that fit, the open one always among them."""
        words = [self.words.get(name, name) for name in self.names]
        hidden = {number for number, name in enumerate(self.names) if name in self.dimmed}
        chosen = self.names.index(self.chosen) if self.chosen in self.names else 0
        numbers = fitting([cell_len(word) for word in words], chosen, self.content_size.width, hidden)
        tabs, column = [], 0
        for number in numbers:
            tabs.append(Tab(number + 1, words[number], column))
            column += cell_len(words[number]) + GAP
        return tabs

    def render(self) -> Content:
        tabs = self.in_sight
        row = Content(" " * GAP).join(
            Content.from_markup(
                f"[@click=screen.panel({tab.number}){self._style(tab.number)}]$text[/]", text=tab.word
            )
            for tab in tabs
        )
        more = len(self.names) - len(tabs)
        if not more:
            return row
        return row + Content.from_markup("[@click=screen.view]$text[/]", text=more_words(more))

    def _style(self, number: int) -> str:
        name = self.names[number - 1]
        return f"{' bold reverse' if name == self.chosen else ''}{' dim' if name in self.dimmed else ''}"


def more_words(count: int) -> str:
    """Return the words behind the visible tabs if there are more."""
    return f"  {key('view')} {count} more"


def fitting(lengths: Sequence[int], chosen: int, width: int, dimmed: Collection[int] = ()) -> list[int]:
    """Return the numbers of the tabs that fit into a width, in order.

    Inapplicable tabs go first, from the right; then a window is shown that reaches to the open one.
    """
    shown = list(range(len(lengths)))

    def too_long() -> bool:
        more = len(lengths) - len(shown)
        room = width - (cell_len(more_words(more)) if more else 0)
        return sum(lengths[number] + GAP for number in shown) - GAP > room

    for number in sorted({*dimmed} - {chosen}, reverse=True):
        if too_long():
            shown.remove(number)
    while len(shown) > 1 and too_long():
        shown.pop() if shown[-1] != chosen else shown.pop(0)
    return shown
