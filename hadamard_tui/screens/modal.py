"""Base of every page over the laboratory: it is styled once, closes once, and may be framed."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.message import Message
from textual.screen import ModalScreen, ScreenResultType

from hadamard_tui.keyboard import motions
from hadamard_tui.terminal.textual_internals import SelectiveScreen


class StyledOnce:
    """A screen that is shown as soon as it is made.

    Textual styles all widgets of a screen that comes to the top, as what they look like may have changed
    while it was kept elsewhere. Screens of the stack follow such changes wherever they are in it.
    """

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        event.refresh_styles = False


class Modal(StyledOnce, SelectiveScreen, ModalScreen[ScreenResultType]):
    """A page that closes once, whatever was pressed or clicked before it was gone.

    Textual's own closes the page on top for every key that says so. A second key that was on its way would
    close the page below, and end the app where there is none.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*motions(close="dismiss(None)")]

    _dismissed = False

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the page unless it is closed, or covered by another page, which would be closed instead."""
        if self._dismissed or not self.is_active:
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)

    def accepts(self, message: Message) -> bool:
        """Once closed, a page handles neither input nor what its widgets made of input.

        One that is closed before it is there does nothing of what it does when it comes, either.
        """
        late = isinstance(message, events.InputEvent | events.Mount) or message.control is not None
        return not (self._dismissed and late)


class Framed(Modal[ScreenResultType]):
    """A page whose only child has a frame, as large as its content and at most as large as the screen."""

    DEFAULT_CSS = """
    Framed { align: center middle; }
    Framed > Vertical, Framed > Words {
        width: 80; max-width: 96%; height: auto; max-height: 96%;
        border: round $primary; padding: 0 1; background: $surface;
    }
    Framed OptionList { height: auto; border: none; padding: 0; background: transparent; }
    """
