"""Base classes of pages that cover the main screen, the blank page, and the page of an engine failure."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Static, TextArea

from hadamard_tui.keyboard import key, motions
from hadamard_tui.terminal import clipboard
from hadamard_tui.terminal.textual_internals import SelectiveScreen


class StyledOnce:
    """Screen that Textual does not style again when it becomes the top screen.

    By default, Textual then restyles all widgets of the screen, in case styles have changed. This is
    unnecessary, because a screen receives changes of styles even while it is below the top screen.
    """

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        event.refresh_styles = False


class Modal(StyledOnce, SelectiveScreen, ModalScreen[ScreenResultType]):
    """Page that closes at most once.

    Textual closes the top page for each key that closes pages. A second such key in the queue would close the
    page below, or end the app if no page is left.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*motions(close="dismiss(None)")]

    _dismissed = False

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the page, unless it is closed already or covered by another page."""
        if self._dismissed or not self.is_active:
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)

    def accepts(self, message: Message) -> bool:
        """Return whether the page handles a message.

        A closed page ignores input, messages of its widgets, and its mount event, which may arrive after it
        is closed.
        """
        late = isinstance(message, events.InputEvent | events.Mount) or message.control is not None
        return not (self._dismissed and late)


class Framed(Modal[ScreenResultType]):
    """Page with one framed child. The frame is as large as its content, but no larger than the screen."""

    DEFAULT_CSS = """
    Framed { align: center middle; }
    Framed > Vertical, Framed > Words {
        width: 80; max-width: 96%; height: auto; max-height: 96%;
        border: round $primary; padding: 0 1; background: $surface;
    }
    Framed OptionList { height: auto; border: none; padding: 0; background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+g", "app.jump", id="jump", show=False)]


class Blank(Modal[None]):
    """Empty page that any key or click closes."""

    DEFAULT_CSS = "Blank { background: $background; }"

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()


class Failure(Modal[None]):
    """Page with the traceback of an engine failure."""

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
            yield Static(f"The engine failed: {last}\nThe app continues; change the set-up or run again.",
                         markup=False)  # fmt: skip
            text = TextArea(self._traceback, read_only=True, show_line_numbers=False)
            text.cursor_blink = False
            yield text

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._traceback)
        if self.app.is_web or clipboard.copies():
            self.notify("The traceback was copied.")
        else:
            self.notify("This terminal cannot copy; hold shift and select the text with the mouse.")
