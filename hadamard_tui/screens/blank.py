"""A blank screen, for a speaker who wants the attention."""

from __future__ import annotations

from textual import events

from hadamard_tui.screens.modal import Modal


class Blank(Modal[None]):
    """An empty screen until any key or click."""

    DEFAULT_CSS = "Blank { background: $background; }"

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()
