"""The keys that move in what has the focus: arrows, and those of vi beside them."""

from __future__ import annotations

import msgspec
from textual.binding import Binding


class Motion(msgspec.Struct, frozen=True):
    """What a key does in lists, tables, heat maps and texts. `id` is its name in the configuration."""

    id: str
    keys: str
    help: str

    def binding(self, action: str) -> Binding:
        """The key with what it does in one kind of widget."""
        return Binding(self.keys, action, show=False, id=self.id)


MOTIONS = (
    Motion("move-down", "down,j", "Go down"),
    Motion("move-up", "up,k", "Go up"),
    Motion("move-left", "left,h", "Go left (heat map, first row)"),
    Motion("move-right", "right,l", "Go right (heat map, first row)"),
    Motion("move-first", "home,g", "Go to the first line"),
    Motion("move-last", "end,G", "Go to the last line"),
    Motion("move-page-down", "pagedown,ctrl+d", "Go a page down; in the list of presets, scroll the preview"),
    Motion("move-page-up", "pageup,ctrl+u", "Go a page up; in the list of presets, scroll the preview"),
    Motion("choose", "enter", "Choose the line"),
    Motion("filter", "slash", "Return to the typed filter (list of presets)"),
    Motion("close", "escape,q", "Close the page"),
    Motion("copy-failure", "c", "Copy the failure (on its page)"),
)

_BY_ID = {motion.id: motion for motion in MOTIONS}


def motions(**actions: str) -> list[Binding]:
    """The keys of a widget: what each motion does there, as `move_down="cursor_down"`."""
    return [_BY_ID[name.replace("_", "-")].binding(action) for name, action in actions.items()]


IN_LISTS = motions(
    move_down="cursor_down",
    move_up="cursor_up",
    move_first="first",
    move_last="last",
    move_page_down="page_down",
    move_page_up="page_up",
    choose="select",
)

IN_TEXTS = motions(
    move_down="scroll_down",
    move_up="scroll_up",
    move_first="scroll_home",
    move_last="scroll_end",
    move_page_down="page_down",
    move_page_up="page_up",
)
