"""A line to type into that takes its keys in the order in which they come."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.content import Content
from textual.widgets import Input

from engine.core.texts import printable

EDITS = {
    key.strip(): binding.action
    for binding in Input.BINDINGS
    if not isinstance(binding, tuple)
    for key in binding.key.split(",")
}
"""What the keys that are no letters do in a line."""


class Entry(Input):
    """An input that edits at once, takes in no character that no text may hold, and whose title is no markup.

    Textual's own hands every key that is no letter on to the app, which acts on it after letters that were
    typed later: on a slow line, backspace would take away the wrong ones.

    There is nothing to validate: it is made with the class that says so, or its styles were computed twice.
    """

    def __init__(self, value: str, **options: Any) -> None:
        super().__init__(value, classes="-valid", **options)

    def render_str(self, text_content: str | Content) -> Content:
        """The title on the border, which may name what a person named."""
        return text_content if isinstance(text_content, Content) else Content(text_content)

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(printable(text), start, end)

    async def on_key(self, event: events.Key) -> None:
        if (action := EDITS.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)
