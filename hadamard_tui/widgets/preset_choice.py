"""The field of the set-up that says which preset it is."""

from __future__ import annotations

from textual.message import Message

from hadamard_tui.widgets.choice import Choice


class PresetChoice(Choice):
    """Requests the page of presets in place of a list of names, with the letter that is typed."""

    class Browsed(Message):
        """A person wants to see the presets that have what is typed."""

        def __init__(self, typed: str) -> None:
            super().__init__()
            self.typed = typed

    async def action_show_list(self) -> None:
        self.post_message(self.Browsed(""))

    async def type(self, letter: str) -> None:
        self.post_message(self.Browsed(letter))
