"""Screens whose widgets get their styles when they are mounted, and not a second time when they are shown."""

from __future__ import annotations

from textual import events


class StyledOnce:
    """A screen that is shown as soon as it is made.

    Textual styles all widgets of a screen that comes to the top, as what they look like may have changed
    while it was kept elsewhere. Screens of the stack follow such changes wherever they are in it.
    """

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        event.refresh_styles = False
