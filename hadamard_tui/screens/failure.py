"""Page with an exception of the engine, readable and copyable; the app lives on."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from hadamard_tui.keyboard import key, motions
from hadamard_tui.screens.modal import Modal
from hadamard_tui.terminal import clipboard


class Failure(Modal[None]):
    """Shows a traceback."""

    BINDINGS: ClassVar[list[BindingType]] = [*motions(copy_failure="copy")]
    DEFAULT_CSS = """
    Failure { align: center middle; }
    Failure > Vertical { width: 90%; height: 80%; border: round $error; padding: 0 1; background: $surface; }
    Failure TextArea { height: 1fr; }
    """

    def __init__(self, traceback: str) -> None:
        super().__init__()
        self._traceback = traceback

    def compose(self) -> ComposeResult:
        last = self._traceback.strip().rsplit("\n", 1)[-1]
        with Vertical() as page:
            page.border_subtitle = f"{key('copy-failure')} copies · {key('close')} closes"
            yield Static(f"The engine failed: {last}\nThe app goes on; change the set-up or run again.",
                         markup=False)  # fmt: skip
            text = TextArea(self._traceback, read_only=True, show_line_numbers=False)
            text.cursor_blink = False
            yield text

    def action_copy(self) -> None:
        """Copy the traceback through the terminal."""
        self.app.copy_to_clipboard(self._traceback)
        if self.app.is_web or clipboard.copies():
            self.notify("The traceback was copied.")
        else:
            self.notify("This terminal does not copy; select the text with the mouse, shift held down.")
