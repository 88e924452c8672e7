"""The field of the set-up that says which preset it is."""

from __future__ import annotations

from textual import events
from textual.message import Message

from hadamard_tui.widgets.choice import Choice


class PresetChoice(Choice):
    """Requests the page of presets in place of a list of names, with the letter that is typed."""

    class Browsed(Message):
        """A person wants to see the presets that have what is typed."""

        def __init__(self, typed: str) -> None:
            super().__init__()
            self.typed = typed

    async def action_show_overlay(self) -> None:  # type: ignore[override]
        self.post_message(self.Browsed(""))

    async def _on_key(self, event: events.Key) -> None:
        letter = event.character if event.is_printable and event.key != "space" else None
        if letter is None or event.key in self._not_typed:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Browsed(letter))
