"""Lists of lines that come and go."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.widgets import OptionList

from hadamard_tui.keyboard.motions import IN_LISTS


class Lines(OptionList):
    """A list whose lines may be gone before a click on one arrives: Textual 8 raises IndexError for it."""

    BINDINGS: ClassVar[list[BindingType]] = [*IN_LISTS]

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()
