"""The footer: the keys of the actions, as many as fit into the width, the most important first."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from hadamard_tui.keyboard.actions import ACTIONS

_RANKS = {action.id: action.footer for action in ACTIONS if action.footer}
_GAP = 2

Entry = tuple[str, str, str]
"""Key, label and action."""


class Keys(Widget):
    """One line; a click on a key does what the key does. Never shows half of an entry."""

    DEFAULT_CSS = """
    Keys {
        height: 1; padding: 0 1; link-style: none;
        background: $footer-background; color: $footer-description-foreground;
    }
    """

    entries: reactive[tuple[Entry, ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)
        self.call_after_refresh(self._bindings_changed, self.screen)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        ranked: dict[int, Entry] = {}
        for _, binding, enabled, _ in screen.active_bindings.values():
            if enabled and (rank := _RANKS.get(binding.id or "")) and rank not in ranked:
                action = binding.action if "." in binding.action else f"screen.{binding.action}"
                ranked[rank] = self.app.get_key_display(binding), binding.description, action
        self.entries = tuple(ranked[rank] for rank in sorted(ranked))

    def render(self) -> Content:
        return Content("  ").join(
            Content.assemble(
                Content.from_markup(f"[bold $footer-key-foreground @click={action}]$key[/]", key=key),
                " ",
                Content.from_markup(f"[@click={action}]$label[/]", label=label),
            )
            for key, label, action in fitting(self.entries, self.content_size.width)
        )


def fitting(entries: tuple[Entry, ...], width: int) -> list[Entry]:
    """The first entries that fit; a shorter one further down may take the room that is left."""
    kept: list[Entry] = []
    for key, label, action in entries:
        needed = cell_len(key) + 1 + cell_len(label) + (_GAP if kept else 0)
        if needed <= width:
            kept.append((key, label, action))
            width -= needed
    return kept
