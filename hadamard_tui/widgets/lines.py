"""Lists whose lines change, and text that scrolls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList

from hadamard_tui.keyboard import IN_LISTS, IN_TEXTS


class Pages(OptionList):
    """A list that stays at its line if it has no room; there Textual 8 raises KeyError for a page."""

    def action_page_down(self) -> None:
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]

    def action_page_up(self) -> None:
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]


class Lines(Pages):
    """A list whose lines may be gone when a click arrives; there Textual 8 raises IndexError."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_LISTS]
    _written: Sequence[Text] = ()

    def write(self, lines: Sequence[Text]) -> None:
        """Set the lines. Different lines make Textual lay out the screen again, the same lines do not."""
        if lines != self._written:
            self._written = lines
            self.set_options(lines)

    def on_click(self, event: events.Click) -> None:
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()


class Words(VerticalScroll):
    """Text that the keys of vi scroll, too."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_TEXTS]
