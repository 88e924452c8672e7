"""Row of picture titles above the picture, and row of tabs below the picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hadamard_tui.charts.drawing.raster import elided
from hadamard_tui.keyboard import key
from hadamard_tui.panels import DIGITS

LEAST = 8
"""Minimum width of a cut name in cells."""


BETWEEN = " · "
"""Text between two titles of pictures if there is room, because titles are often sentences."""

BETWEEN_TIGHT = "│"
"""Text between two titles of pictures in a full row. A blank would not separate titles of several words."""


CHOSEN = "▸"
"""Mark before the title of the picture on the screen. It shows the choice even without colours."""


class PictureRow(Widget):
    """Line with the titles of the pictures. The title of the picture on the screen is marked.

    The line is hidden if only one picture exists.
    """

    DEFAULT_CSS = """
    PictureRow { height: 1; background: $boost; color: $text-muted; link-style: none; display: none; }
    """

    names: reactive[tuple[str, ...]] = reactive(())
    short: reactive[tuple[str, ...]] = reactive(())
    """Short names, which replace titles that do not fit."""

    chosen: reactive[int] = reactive(0)

    def watch_names(self) -> None:
        self.display = len(self.names) > 1

    def render(self) -> Content:
        hint = _hint()
        shown = self._texts()
        if self.chosen < len(shown):
            shown[self.chosen] = f"{CHOSEN}{shown[self.chosen]}"
        named = (_picture_link(number, text, number == self.chosen) for number, text in enumerate(shown))
        room = self.content_size.width - cell_len(hint) - sum(map(cell_len, shown))
        has_room = room >= cell_len(BETWEEN) * len(shown)
        return Content(BETWEEN if has_room else BETWEEN_TIGHT).join(named) + (
            f"  {hint}" if has_room else hint
        )

    def _texts(self) -> list[str]:
        width = self.content_size.width - cell_len(_hint()) - cell_len(CHOSEN)
        return texts(self.names, self.short, self.chosen, width)

    def has_title(self, title: str) -> bool:
        """Return whether the row shows `title` in full as the title of the chosen picture."""
        return self.display and self._texts()[self.chosen] == title


def _hint() -> str:
    return f" {key('next_picture')} next"


def texts(names: Sequence[str], short: Sequence[str], chosen: int, width: int) -> list[str]:
    """Return the names of pictures in a row, shortened until they fit into `width` cells.

    First, short names replace all names except the chosen one. Then the short names are cut. If the cut names
    still do not fit, only the chosen picture and its neighbours keep names, and numbers replace all other
    names.
    """
    room = width - (len(names) - 1)
    if sum(map(cell_len, names)) <= room:
        return list(names)
    other_lengths = [cell_len(picture_name) for number, picture_name in enumerate(short) if number != chosen]
    chosen_length = min(cell_len(names[chosen]), max(room - sum(other_lengths), room // 2))
    if (max_length := _largest_length(other_lengths, room - chosen_length)) is None:
        return _texts_of_pictures(names, short, chosen, width)
    shown = [elided(picture_name, max_length) for picture_name in short]
    shown[chosen] = elided(names[chosen], chosen_length)
    return shown


def _largest_length(lengths: Sequence[int], room: int) -> int | None:
    """Return the largest length to which names can be cut so that all fit into `room` cells.

    If even names of length LEAST do not fit, return None.
    """
    for max_length in range(max([*lengths, LEAST]), LEAST - 1, -1):
        if sum(min(length, max_length) for length in lengths) <= room:
            return max_length
    return None


def _texts_of_pictures(names: Sequence[str], short: Sequence[str], chosen: int, width: int) -> list[str]:
    """Return names for the chosen picture and for neighbours that fit, and numbers for other pictures."""
    shown = [str(number) for number in range(1, len(names) + 1)]
    digits = [len(text) for text in shown]
    room = width - (len(names) - 1) - sum(digits) + digits[chosen]
    shown[chosen] = elided(names[chosen], max(room - 2 * LEAST, width // 4))
    remaining = room - cell_len(shown[chosen])
    around = sorted(range(len(names)), key=lambda number: abs(number - chosen))[1:]
    near = [number for number in around if abs(number - chosen) == 1]
    room_near = remaining + sum(digits[number] for number in near)
    max_length = _largest_length([cell_len(short[number]) for number in near], room_near) or 1
    for number in around:
        text = elided(short[number], max_length) if number in near else short[number]
        if max_length == 1 or cell_len(text) - digits[number] > remaining:
            break
        shown[number], remaining = text, remaining - (cell_len(text) - digits[number])
    return shown


def shortened(names: Sequence[str]) -> list[str]:
    """Return the names, each without the first words that it shares with another name.

    An ellipsis replaces the shared words. A name that consists only of shared words is not shortened.
    """
    split = [picture_name.split() for picture_name in names]
    shorter = []
    for at, words in enumerate(split):
        shared = max((_shared_word_count(words, other) for other in split[:at] + split[at + 1 :]), default=0)
        shorter.append(f"…{' '.join(words[shared:])}" if 0 < shared < len(words) else " ".join(words))
    return shorter


def _shared_word_count(words: Sequence[str], other_words: Sequence[str]) -> int:
    pairs = zip(words, other_words, strict=False)
    return next(
        (at for at, (word, other) in enumerate(pairs) if word != other), min(len(words), len(other_words))
    )


def _picture_link(number: int, picture_name: str, chosen: bool) -> Content:
    style = " bold reverse" if chosen else ""
    return Content.from_markup(f"[@click=screen.picture({number}){style}]$text[/]", text=picture_name)


GAP = 2
"""Number of blank cells between two tabs."""

GAP_WITHOUT_DIGIT = 3
"""Blank cells before a tab without a digit. In jump mode, the middle one shows the key of the tab."""


class Tab(NamedTuple):
    """Visible tab: its number among all tabs, the text on it, and the column in which the text begins.

    The text is the word for the panel. If a digit key opens the panel, the digit is before the word.
    """

    number: int
    word: str
    column: int


class Tabs(Widget):
    """Line of tabs. If some tabs do not fit, the line ends with their number and the key for the next tab."""

    DEFAULT_CSS = "Tabs { height: 1; background: $boost; color: $text-muted; link-style: none; }"

    names: reactive[tuple[str, ...]] = reactive(())
    chosen: reactive[str] = reactive("")
    words: reactive[Mapping[str, str]] = reactive[Mapping[str, str]](dict)
    """Words on the tabs, by the name of the panel."""

    dimmed: reactive[frozenset[str]] = reactive(frozenset())
    """Names of the panels that do not apply to the experiment."""

    @property
    def in_sight(self) -> list[Tab]:
        words = [
            _with_digit(number, self.words.get(panel_name, panel_name))
            for number, panel_name in enumerate(self.names, 1)
        ]
        hidden = {number for number, panel_name in enumerate(self.names) if panel_name in self.dimmed}
        chosen = self.names.index(self.chosen) if self.chosen in self.names else 0
        lengths = [cell_len(word) + _gap(number) - GAP for number, word in enumerate(words, 1)]
        numbers = fitting(lengths, chosen, self.content_size.width, hidden)
        tabs: list[Tab] = []
        end = -GAP
        for number in numbers:
            column = end + _gap(number + 1)
            tabs.append(Tab(number + 1, words[number], column))
            end = column + cell_len(words[number])
        return tabs

    def render(self) -> Content:
        tabs, row = self.in_sight, Content()
        for tab in tabs:
            style = f"@click=screen.panel({tab.number}){self._tab_style(tab.number)}"
            word = Content.from_markup(f"[{style}]$text[/]", text=tab.word)
            row += Content(" " * (tab.column - row.cell_length)) + word
        more = len(self.names) - len(tabs)
        if not more:
            return row
        return row + Content.from_markup("[@click=screen.view]$text[/]", text=more_words(more))

    def _tab_style(self, number: int) -> str:
        panel = self.names[number - 1]
        return f"{' bold reverse' if panel == self.chosen else ''}{' dim' if panel in self.dimmed else ''}"


def _gap(number: int) -> int:
    """Return the number of blank cells before tab `number`, if another tab is before it."""
    return GAP if number <= DIGITS else GAP_WITHOUT_DIGIT


def _with_digit(number: int, word: str) -> str:
    return f"{key(f'panel-{number}')} {word}" if number <= DIGITS else word


def more_words(count: int) -> str:
    return f"  {key('view')} {count} more"


def fitting(lengths: Sequence[int], chosen: int, width: int, dimmed: Collection[int] = ()) -> list[int]:
    """Return the positions of the tabs that fit into `width` cells, in order.

    Dimmed tabs are dropped first, from right to left. Then tabs right of the open tab are dropped, and
    finally tabs left of it.
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
