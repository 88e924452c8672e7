"""Widgets of one line, without borders."""

from __future__ import annotations

from typing import TypeVar

from textual.content import Content
from textual.widgets import Button, Checkbox, Input, OptionList

Compact = TypeVar("Compact", Input, Checkbox, Button, OptionList)

COMPACT = "-textual-compact"


def compact(widget: Compact) -> Compact:
    """Make a widget compact before it is mounted.

    Set in the usual way, the property makes Textual compute the widget's styles twice more, for many widgets.
    """
    widget.set_reactive(type(widget).compact, True)
    widget.add_class(COMPACT, update=False)
    return widget


class Small(Button):
    """A compact button whose tooltip is no markup."""

    def __init__(self, label: str, *, tooltip: str, id: str | None = None, classes: str = "") -> None:
        classes = f"{classes} -default -style-default"  # which it would give itself, with its styles anew
        super().__init__(label, id=id, classes=classes, tooltip=Content(tooltip))
        compact(self)
