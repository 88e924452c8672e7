"""All uses of Textual's private names. The docstrings say why no public name suffices.

No other file of the program uses private names of Textual. `tests/app/test_textual_internals.py` fails if
Textual changes one of these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING, Any, TypeVar

from textual._compositor import Compositor, CompositorMap
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
    """Return the driver of an app, or None before the app starts.

    The program writes to the driver to copy text and to restore the terminal. Only the private attribute
    `_driver` holds the driver.
    """
    return app._driver


def notifications_of(app: App[Any]) -> Iterable[Notification]:
    """Return the notifications that an app shows or is about to show.

    The app compares new messages with them, to avoid showing a message twice. Only `_notifications` lists all
    notifications, because the widgets of notifications are mounted later.
    """
    return app._notifications


def remove_answers(app: App[Any]) -> None:
    """Remove the notifications of severity "information"; warnings and errors stay until their time is up.

    The public `clear_notifications` removes all. Only the private method `_unnotify` removes one.
    """
    for notification in list(app._notifications):
        if notification.severity == "information":
            app._unnotify(notification)


def replace_output(driver: LinuxDriver, replace: Callable[[IO[str]], Output]) -> Output:
    """Replace the file that a driver writes to by the result of `replace`, and return this result.

    The constructor of the driver accepts no file: it always sets `_file` to standard error.
    """
    assert driver._file is not None, "there is a terminal"
    output = replace(driver._file)
    driver._file = output  # type: ignore[assignment]
    return output


def lay_out(screen: Screen[Any]) -> None:
    """Lay out a screen at once, so that a picture of the screen shows all changes.

    The public `refresh(layout=True)` takes effect only after further messages. `call_after_refresh` may call
    its function before the layout.
    """
    screen._refresh_layout()


def forget_drawn_widgets() -> None:
    """Release the memory of removed widgets, which `StylesCache` keeps. No public name clears it."""
    StylesCache.get_inner_outer.cache_clear()


class TerminalParser(XTermParser):
    """Textual's parser of terminal input. Public modules offer this parser only as part of a driver."""

    @property
    def is_waiting(self) -> bool:
        """Whether the parser waits with a time limit for more input, for example after a lone escape.

        At the time limit, the received characters become keys. No public name tells whether there is a limit.
        """
        return self._timeout_time is not None


class FailingApp(App[None]):
    """Base class of an app that decides which unhandled exceptions end it.

    Textual reports exceptions only to `_handle_exception`. It has no event or public method for them.
    """

    def fails_by(self, error: Exception) -> bool:
        return True

    def _handle_exception(self, error: Exception) -> None:
        if self.fails_by(error):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """End the app without Textual's error report, which would show the values of all variables.

        `_handle_exception` calls this method and not the public `panic`.
        """
        self.panic()


class SelectiveScreen(MessagePump):
    """Base class of a screen that can drop messages from its queue.

    No public hook can do this: `on_event` does not receive messages of widgets, and Textual calls
    `check_message_enabled` too early, before it queues a message.
    """

    def accepts(self, message: Message) -> bool:
        return True

    async def _on_message(self, message: Message) -> None:
        if self.accepts(message):
            await super()._on_message(message)


class RepaintingCompositor(Compositor):
    """Compositor that repaints all moved widgets, even if a lookup has already noticed the move.

    A lookup such as `Screen.find_widget` may build `full_map` with new styles before the next layout. To find
    moved widgets, the layout compares its map with `full_map`. After such a lookup, the layout of Textual 8
    finds no difference, and cells between widgets keep old letters. No public method builds or compares these
    maps.
    """

    @property
    def full_map(self) -> CompositorMap:
        painted = self._full_map if self._visible_map is None else self._visible_map
        full_map = super().full_map
        if full_map is not painted:
            regions = [geometry.visible_region for _, geometry in full_map.items() ^ painted.items()]
            self._dirty_regions.update(region for region in regions if region)
        return full_map


class RestingScreen(Screen[None]):
    """Screen that is repainted only where it changes, also while it lies below another screen.

    If the flag `_repaint_required` of the lower screen is set, Textual 8 repaints both screens completely at
    the next message. The repaint sets the flag again, so each further message would cause a repaint. No
    public method resets the flag.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = RepaintingCompositor()

    def _compositor_refresh(self) -> None:
        super()._compositor_refresh()
        if self is not self.app.screen:
            self._repaint_required = False
