"""A choice among a few words."""

from __future__ import annotations

from textual import events
from textual.widgets import Select


class Choice(Select[str]):
    """A select that may be taken away before it is told of its mounting, as when a form is soon made anew."""

    def on_mount(self, event: events.Mount) -> None:
        if not self.query("SelectOverlay"):
            event.prevent_default()
