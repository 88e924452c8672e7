"""Page about a part: its documentation, and the presets that name it."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import OptionList, Static

from engine.core import catalogue
from engine.core.parts import docstring
from engine.spec.preset_index import naming
from hadamard_tui.charts.line_heads import head
from hadamard_tui.keyboard import key
from hadamard_tui.screens.modal import Framed
from hadamard_tui.screens.welcome import preset_option
from hadamard_tui.widgets.lines import Lines, Words


class PartPage(Framed[str | None]):
    """Page that returns the name of the chosen preset, or None."""

    def __init__(self, family: str, kind: str) -> None:
        super().__init__()
        self._family, self._kind = family, kind

    def compose(self) -> ComposeResult:
        with Words() as page:
            page.border_title = Text(f"{self._family.capitalize()}: {self._kind}")
            shown = [preset_option(entry.name, entry.title) for entry in naming(self._kind)]
            closes = f"{key('close')} closes"
            page.border_subtitle = f"{key('choose')} opens a preset · {closes}" if shown else closes
            yield Static(about(self._family, self._kind))
            if shown:
                yield Static(Text("\nPresets that name it", "bold"))
                yield Lines(*shown, compact=True)
            else:
                yield Static(Text("\nNo preset names it.", "italic"))

    def on_mount(self) -> None:
        for presets in self.query(OptionList):
            presets.focus(scroll_visible=False)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


def about(family: str, kind: str) -> Text:
    """Return the documentation of a part; for a theory line with direction, formula and source first."""
    from engine.theory import statement

    member: Any = catalogue.members(family)[kind]
    text = head(statement(member())).append("\n\n") if family == "theory" else Text()
    paragraphs = docstring(member).split("\n\n")
    return text.append("\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))
