"""First start: one sentence, three presets to begin with, and the guided paths."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engine.spec import presets
from hadamard_tui.browsing.preset_list import NEW, NEW_TITLE
from hadamard_tui.keyboard import action_of, key
from hadamard_tui.screens.help import Help
from hadamard_tui.screens.modal import Framed
from hadamard_tui.tours import is_path, talks
from hadamard_tui.widgets.lines import Lines

FIRST = ("hadamard-128", "hadamard-d", "rotated-128")
WHAT = (
    "Watch learners live against the lower bounds that theory proves for them, "
    "see who falls below them, and read why."
)


WALK = "Or walk a path: predict, run, read why, break it"


class Welcome(Framed[str | None]):
    """Page that returns the name of the chosen preset or path, or None."""

    DEFAULT_CSS = """
    Welcome > Vertical { max-width: 100%; max-height: 100%; padding: 1 1; }
    Welcome OptionList { margin: 1 0 0 0; }
    """

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "hadamard-tui"
            hints = f"{key('presets')} lists all · {key('help')} explains"
            page.border_subtitle = f"{key('choose')} runs it · {hints} · {key('close')} looks around"
            yield Static(WHAT, markup=False)
            first = (preset_option(name, presets.load(name).title) for name in FIRST)
            new = Option(f"Or start from nothing: {NEW_TITLE[0].lower()}{NEW_TITLE[1:]}", id=NEW)
            yield Lines(*first, Option(WALK, disabled=True), *_paths(), new, compact=True)

    def on_key(self, event: events.Key) -> None:
        """The keys that stand below the page act as they say: to run is to run what is selected, and all but
        help close the page."""
        action = action_of(event.key) if event.is_printable else None
        if action is None:
            return
        event.stop()
        if action.id == "help":
            self.app.push_screen(Help())
        elif action.id in ("run", "pause"):
            self.query_one(OptionList).action_select()
        else:
            laboratory = self.app.screen_stack[0]
            self.dismiss(None)
            self.app.call_later(laboratory.run_action, action.name)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


def _paths() -> Iterator[Option]:
    """Yield a line for each guided path."""
    for name, talk in talks().items():
        if is_path(talk):
            yield Option(f"  {talk.title}", id=name)


def preset_option(name: str, title: str) -> Option:
    """Return an option for a preset: its name above its title."""
    return Option(Text.assemble((name, "bold"), f"\n  {title}"), id=name)
