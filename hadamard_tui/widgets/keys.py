"""Footer: the keys of the most useful actions, as many as fit into the width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from hadamard_tui.keyboard import AT_REST, FOOTER, IN_A_RUN

_GAP = 2

Entry = tuple[str, str, str]
"""Key, label and action of an entry."""


class Keys(Widget):
    """One line of keys; a click on a key does what the key does. No entry is cut."""

    DEFAULT_CSS = """
    Keys {
        height: 1; padding: 0 1; link-style: none;
        background: $footer-background; color: $footer-description-foreground;
    }
    """

    entries: reactive[dict[str, Entry]] = reactive[dict[str, Entry]](dict)
    """Labels of the footer's actions, by id."""

    in_a_run: reactive[bool] = reactive(False)
    """Whether a run is going on."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)
        self.call_after_refresh(self._bindings_changed, self.screen)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        entries: dict[str, Entry] = {}
        for _, binding, enabled, _ in screen.active_bindings.values():
            if enabled and binding.id in FOOTER and binding.id not in entries:
                action = binding.action if "." in binding.action else f"screen.{binding.action}"
                entries[binding.id] = self.app.get_key_display(binding), binding.description, action
        self.entries = entries

    def render(self) -> Content:
        ranked = IN_A_RUN if self.in_a_run else AT_REST
        return Content("  ").join(
            Content.assemble(
                Content.from_markup(f"[bold $footer-key-foreground @click={action}]$key[/]", key=key),
                " ",
                Content.from_markup(f"[@click={action}]$label[/]", label=label),
            )
            for key, label, action in fitting(self.entries, ranked, self.content_size.width)
        )


def fitting(entries: Mapping[str, Entry], ranked: Sequence[str], width: int) -> list[Entry]:
    """Return the first ranked entries that fit, in the order of the footer."""
    fitting_ids: set[str] = set()
    for id in ranked:
        if id in entries:
            key, label, _ = entries[id]
            needed = cell_len(key) + 1 + cell_len(label) + (_GAP if fitting_ids else 0)
            if needed <= width:
                fitting_ids.add(id)
                width -= needed
    return [entries[id] for id in FOOTER if id in fitting_ids]
