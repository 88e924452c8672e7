"""A choice among a few words."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.message import Message
from textual.widgets import Select


class Choice(Select[str]):
    """A select that tells of what a person chose, and not of the value it was made with.

    It may be taken away before it is told of its mounting, as when a form is soon made anew.
    """

    def __init__(self, *arguments: Any, value: str, **options: Any) -> None:
        super().__init__(*arguments, value=value, **options)
        self._told: object = value

    def on_mount(self, event: events.Mount) -> None:
        if not (self.query("SelectOverlay") and self.query("#label")):  # widgets go from the inside out
            event.prevent_default()

    def post_message(self, message: Message) -> bool:
        if isinstance(message, Select.Changed):
            if message.value == self._told:
                return False
            self._told = message.value
        return super().post_message(message)
