"""Asks for the name of a run."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from hadamard_tui.screens.modal import Modal
from hadamard_tui.widgets.entry import Entry

LONGEST = 24


class Renaming(Modal[str | None]):
    """One field; enter takes the name, escape leaves it as it was."""

    DEFAULT_CSS = """
    Renaming { align: center middle; }
    Renaming Input { width: 40; max-width: 90%; border: round $primary; background: $surface; }
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._former = name

    def compose(self) -> ComposeResult:
        field = Entry(self._former, max_length=LONGEST)
        field.border_title = f"{self._former} is called"
        yield field

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(" ".join(event.value.split()) or None)
