"""Field of the set-up with the name of its preset."""

from __future__ import annotations

from textual.message import Message

from hadamard_tui.widgets.choice import Choice


class PresetChoice(Choice):
    """Requests the page of presets instead of opening a list, with the letter that is typed."""

    class Browsed(Message):
        """Message: a person wants to see the presets that match what is typed."""

        def __init__(self, typed: str) -> None:
            super().__init__()
            self.typed = typed

    async def action_show_list(self) -> None:
        self.post_message(self.Browsed(""))

    async def type(self, letter: str) -> None:
        self.post_message(self.Browsed(letter))
