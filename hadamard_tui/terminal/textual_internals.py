"""Private names of Textual, each with the reason why no public name serves.

No other file of the program uses one. `tests/app/test_textual_internals.py` fails if Textual changes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING, Any, TypeVar

from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver
    from textual.notifications import Notification

Output = TypeVar("Output")


def driver_of(app: App[Any]) -> Driver | None:
    """Return the driver of an app; None before its start.

    The clipboard and the end of the program write to it. `_driver` is the only name that an app has for it.
    """
    return app._driver


def notifications_of(app: App[Any]) -> Iterable[Notification]:
    """Return the messages that an app shows or is about to show.

    They prevent showing a message twice. Toasts appear later than their messages, and apps list messages only
    in `_notifications`.
    """
    return app._notifications


def replace_output(driver: LinuxDriver, replace: Callable[[IO[str]], Output]) -> Output:
    """Replace the file that a driver writes to, and return the new one.

    Timing writes needs another file. The constructor accepts none, and opens `_file` itself.
    """
    assert driver._file is not None, "there is a terminal"
    output = replace(driver._file)
    driver._file = output  # type: ignore[assignment]
    return output


def lay_out(screen: Screen[Any]) -> None:
    """Lay out a screen at once, so that a picture of it shows all changes.

    The public `refresh(layout=True)` lays out some messages later, and `call_after_refresh` may be called
    before.
    """
    screen._refresh_layout()


def forget_drawn_widgets() -> None:
    """Release removed widgets.

    A cache of `StylesCache` holds the output of these widgets, and no public name clears it.
    """
    StylesCache.get_inner_outer.cache_clear()


class TerminalParser(XTermParser):
    """Textual's parser of terminal input, which public modules offer only inside complete drivers."""

    @property
    def is_waiting(self) -> bool:
        """Whether elapsed time decides the meaning of the latest letters, such as a lone escape.

        Otherwise, reading waits for input without a time limit. Only `_timeout_time` distinguishes the two
        cases.
        """
        return self._timeout_time is not None


class FailingApp(App[None]):
    """App that decides how to handle an exception.

    Textual reports exceptions to `_handle_exception` only, without an event or a public method.
    """

    def fails_by(self, error: Exception) -> bool:
        """Return whether an unhandled exception ends the app."""
        return True

    def _handle_exception(self, error: Exception) -> None:
        if self.fails_by(error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """End the app without computing Textual's page on the error, which shows the values of all variables.

        `_handle_exception` calls it in place of the public `panic`.
        """
        self.panic()


class SelectiveScreen(MessagePump):
    """Screen that drops some messages that are already in its queue.

    No public hook can do this: `on_event` does not receive messages of widgets, and Textual calls
    `check_message_enabled` before it queues a message.
    """

    def accepts(self, message: Message) -> bool:
        """Return whether the screen handles a message."""
        return True

    async def _on_message(self, message: Message) -> None:
        if self.accepts(message):
            await super()._on_message(message)


class RestingScreen(Screen[None]):
    """Screen that is repainted below another one only where it changes.

    After a change there, Textual 8 repaints both screens completely for each message, because every repaint
    sets `_repaint_required` anew. No public method resets it.
    """

    def _compositor_refresh(self) -> None:
        super()._compositor_refresh()
        if self is not self.app.screen:
            self._repaint_required = False
