"""Command palette: actions, presets and parts, searched by names, words and papers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.command import CommandInput, CommandList, CommandPalette
from textual.css.query import NoMatches
from textual.reactive import reactive
from textual.widgets import LoadingIndicator
from textual.worker import Worker

from engine.core.texts import printable
from hadamard_tui.screens.finding import ActionProvider, PartProvider, PresetProvider
from hadamard_tui.screens.modal import Modal
from hadamard_tui.widgets.controls import Lines


class Query(CommandInput):
    """The words to search for, without characters that a terminal would obey, and with a steady cursor."""

    cursor_blink = reactive(False, init=False)

    def __init__(self) -> None:
        super().__init__(placeholder="command, preset, panel, part, theorem or paper", select_on_focus=False)

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(printable(text), start, end)


class Found(CommandList, Lines, can_focus=False):
    """The commands found, which another search may replace while one of them is clicked on."""


class Searching(LoadingIndicator):
    """A sign that a search goes on, without movement."""

    def on_mount(self, event: events.Mount) -> None:
        event.prevent_default()  # it would be drawn 16 times a second, hidden or not


class Commands(CommandPalette, Modal[None]):
    """Textual's palette as a page that closes once, so that a command runs once."""

    def __init__(self) -> None:
        super().__init__([ActionProvider, PresetProvider, PartProvider])

    def compose(self) -> ComposeResult:
        stand_ins = {CommandInput: Query, CommandList: Found, LoadingIndicator: Searching}
        for widget in super().compose():
            stand_in = stand_ins.get(type(widget))
            yield widget if stand_in is None else stand_in()

    def run_worker(self, work: Any, *arguments: Any, **options: Any) -> Worker[Any]:
        """Search for commands as long as there is a list: a page may be closed before it has made one."""

        async def search() -> None:
            with suppress(NoMatches):
                await work()

        return super().run_worker(search, *arguments, **options)
