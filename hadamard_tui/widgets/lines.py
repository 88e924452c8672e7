"""Lists of lines that come and go."""

from __future__ import annotations

from textual import events
from textual.widgets import OptionList


class Lines(OptionList):
    """A list whose lines may be gone before a click on one arrives: Textual 8 raises IndexError for it."""

    def _on_click(self, event: events.Click) -> None:  # type: ignore[override]
        if event.style.meta.get("option", 0) >= self.option_count:
            event.prevent_default()
