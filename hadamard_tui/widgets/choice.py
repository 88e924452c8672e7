"""A choice among a few words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Select
from textual.widgets._select import SelectCurrent


class Chosen(SelectCurrent):
    """What is chosen, and an arrow, drawn as one: Textual's own are four widgets in every field."""

    DEFAULT_CSS = "Chosen { height: 1; }"

    def compose(self) -> ComposeResult:
        yield from ()

    def update(self, label: object) -> None:
        assert isinstance(label, Content), "choices are text"
        self.label = label
        self.has_value = True
        self.refresh()

    def render(self) -> Content:
        arrow = "▲" if self.query_ancestor(Choice).expanded else "▼"
        width = max(0, self.content_size.width - 2)
        assert isinstance(self.label, Content)
        return Content.assemble(self.label.truncate(width, pad=True), " ", (arrow, "$foreground 50%"))


class Choice(Select[str]):
    """A select that tells of what a person chose, and not of the value it was made with.

    Its words are text, and no markup. It may be taken away before it is told of its mounting, as when a form
    is soon made anew.
    """

    def __init__(self, choices: Iterable[tuple[str, str]], *, value: str, **options: Any) -> None:
        super().__init__(_plain(choices), value=value, **options)
        self._told: object = value

    @property
    def whole(self) -> bool:
        """Whether all that it is made of is there: widgets go from the inside out."""
        return bool(self.query("SelectOverlay") and self.query(Chosen))

    def offer(self, choices: Iterable[tuple[str, str]]) -> None:
        """Let a person choose among others."""
        self.set_options(_plain(choices))

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield Chosen("") if isinstance(widget, SelectCurrent) else widget

    def watch_expanded(self) -> None:
        for chosen in self.query(Chosen):
            chosen.refresh()

    def on_mount(self, event: events.Mount) -> None:
        if not self.whole:
            event.prevent_default()

    def action_show_overlay(self) -> None:
        """Show what there is to choose from, if it is there already: keys in haste come before."""
        if self.whole:
            super().action_show_overlay()

    def post_message(self, message: Message) -> bool:
        if isinstance(message, Select.Changed):
            if message.value == self._told:
                return False
            self._told = message.value
        return super().post_message(message)


def _plain(choices: Iterable[tuple[str, str]]) -> list[tuple[Content, str]]:
    return [(Content(words), value) for words, value in choices]
