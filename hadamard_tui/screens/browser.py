"""Page that lists presets and filters them by words, and page for a new experiment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.css.query import NoMatches
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from hadamard_tui.browsing import beginnings
from hadamard_tui.browsing.preset_list import PresetGroup, best, groups, matching, shown_name
from hadamard_tui.browsing.preview import preview
from hadamard_tui.keyboard import key, motions
from hadamard_tui.screens.modal import Framed
from hadamard_tui.widgets.controls import Entry as Line
from hadamard_tui.widgets.controls import Lines, compact

if TYPE_CHECKING:
    from engine.spec.preset_index import PresetEntry


PREVIEW_FROM, TITLES_FROM = 72, 104
"""Minimum screen widths in columns: for a preview beside the list, and for titles beside a preview."""

FEW_COLOURS = ("standard", "windows")


class Browser(Framed[str | None]):
    """Page that returns the name or file of the chosen preset, or None if the user closes the page."""

    # These keys work while the filter has the focus. The list has its own keys.
    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(
            move_down="move('cursor_down')",
            move_up="move('cursor_up')",
            move_page_down="scroll_preview(1)",
            move_page_up="scroll_preview(-1)",
            filter="filter",
        )
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-without-preview"), (PREVIEW_FROM, "-with-preview")]  # noqa: RUF012
    DEFAULT_CSS = """
    Browser > Vertical { width: 100%; max-width: 132; height: 100%; max-height: 48; }
    Browser #filter { margin: 0 0 1 0; }
    Browser #found { height: 1fr; }
    Browser #presets {
        width: 1fr; height: 100%; border: none; padding: 0; background: transparent;
        text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
    }
    Browser #presets > .option-list--option-disabled { color: $primary; text-style: bold; }
    Browser #preview { width: 50%; min-width: 49; margin: 0 0 0 1; scrollbar-size-vertical: 1; }
    Browser #preview Static { height: auto; }
    Browser.-without-preview #preview { display: none; }
    """

    def __init__(self, opened: str | None = None, typed: str = "", ascii_only: bool = False) -> None:
        super().__init__()
        self._opened, self._typed, self._ascii_only = opened, typed, ascii_only
        self._groups: Sequence[PresetGroup] = ()
        self._entries: dict[str, PresetEntry] = {}

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "Presets"
            yield compact(Line(self._typed, id="filter", placeholder="name, word, learner, part or paper"))
            with Horizontal(id="found"):
                yield compact(Lines(id="presets"))
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static("", markup=False)

    def on_mount(self) -> None:
        self._show_preview(Text("Reading the presets …", "italic"))
        self.query_one(OptionList).add_option(Option("Reading the presets …", disabled=True))
        self.query_one(Line).focus()
        self.query_one(Line).cursor_position = len(self._typed)
        pane = self.query_one("#preview", VerticalScroll)
        self.watch(pane, "virtual_size", self._show_keys)
        self.watch(pane, "size", self._show_keys)
        self._read_presets()

    def _show_keys(self) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        is_cut = pane.display and pane.virtual_size.height > pane.size.height
        read_on = [f"{key('move-page-down')} reads on"] if is_cut else []
        keys = [f"{key('choose')} opens, then {key('run')} runs", *read_on, f"{key('close')} closes"]
        self.query_one(Vertical).border_subtitle = " · ".join(keys)

    def type(self, letters: str) -> None:
        """Append letters to the filter, even before the page is mounted."""
        self._typed += letters
        for line in self.query(Line):
            line.insert_text_at_cursor(letters)

    @work
    async def _read_presets(self) -> None:
        """Read all presets in a thread, because reading many files would block the app."""
        self._groups = await asyncio.to_thread(groups, self._opened)
        self._entries = {entry.name: entry for _, entries in self._groups for entry in entries}
        with suppress(NoMatches):  # the page may have been closed
            self._list_presets()

    def _list_presets(self) -> None:
        typed, options = self.query_one(Line).value, self.query_one(OptionList)
        matching_groups = matching(self._groups, typed)
        titled = not PREVIEW_FROM <= self.size.width < TITLES_FROM
        options.set_options(line for group in matching_groups for line in _group_options(group, titled))
        meant = best(matching_groups, typed) if typed.split() else self._entries.get(self._opened or "")
        if meant is not None:
            options.highlighted = options.get_option_index(meant.name)
        elif not matching_groups and self._groups:
            self._show_preview(
                Text(f"No preset matches “{typed}”. {key('command_palette')} also searches parts.", "italic")
            )

    @on(Input.Changed)
    def _search_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._groups:
            self._list_presets()

    @on(OptionList.OptionHighlighted)
    def _preset_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if event.option_id is not None:
            self._show_preview(preview(self._entries[event.option_id], self._has_colours))

    @property
    def _has_colours(self) -> bool:
        few = self.app.no_color or self.app.console.color_system in FEW_COLOURS
        return not (few or self._ascii_only)

    def _show_preview(self, text: Text) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        pane.query_one(Static).update(text)
        pane.scroll_home(animate=False)

    @on(Input.Submitted)
    def _search_entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _preset_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)

    def action_filter(self) -> None:
        self.query_one(Line).focus()

    def action_move(self, motion: str) -> None:
        """Move the highlight in the list of presets while the filter keeps the focus."""
        getattr(self.query_one(OptionList), f"action_{motion}")()

    def action_scroll_preview(self, pages: int) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)


def _group_options(group: PresetGroup, titled: bool) -> Iterator[Option]:
    heading, entries = group
    yield Option(heading, disabled=True)
    for entry in entries:
        title = f"  {entry.title}" if titled else ""
        yield Option(Text.assemble(f"  {shown_name(entry)}", (title, "dim")), id=entry.name)


class NewExperiment(Framed[dict[str, Any] | None]):
    """Page that returns the document of a new experiment, or None if the user closes the page."""

    DEFAULT_CSS = """
    NewExperiment > Vertical { width: 100; }
    NewExperiment OptionList { max-height: 7; text-wrap: nowrap; text-overflow: ellipsis; }
    NewExperiment #problem-lines { margin: 0 0 1 0; }
    """

    def compose(self) -> ComposeResult:
        with Vertical() as page:
            page.border_title = "New experiment"
            page.border_subtitle = f"{key('choose')} chooses · {key('close')} closes"
            yield Static(Text("1. Problem: matrix family and target", "bold"))
            yield Lines(id="problem-lines", compact=True)
            yield Static(Text("2. Learner", "bold"))
            yield Lines(id="learner-lines", compact=True)
            yield Static(
                Text(
                    f"Then {key('recipe')} and {key('setup')} change problem, learners and protocol.", "dim"
                ),
                markup=False,
            )

    def on_mount(self) -> None:
        self._read_beginnings()

    @work
    async def _read_beginnings(self) -> None:
        """Read the presets in a thread, because reading many files would block the app."""
        problems = await asyncio.to_thread(_problem_options)
        learners = await asyncio.to_thread(_learner_options)
        with suppress(NoMatches):  # the page may have been closed
            for id, lines in (("#problem-lines", problems), ("#learner-lines", learners)):
                options = self.query_one(id, OptionList)
                options.add_options(lines)
                options.highlighted = 0

    @on(OptionList.OptionSelected, "#problem-lines")
    def _problem_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.query_one("#learner-lines").focus()

    @on(OptionList.OptionSelected, "#learner-lines")
    def _learner_chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        number = self.query_one("#problem-lines", OptionList).highlighted
        if number is not None:
            problem, learner = beginnings.problems()[number], beginnings.learners()[event.option_index]
            self.dismiss(beginnings.document(problem, learner))


def _problem_options() -> Sequence[Option]:
    return [_beginning_option(problem.title, problem.summary) for problem in beginnings.problems()]


def _learner_options() -> Sequence[Option]:
    return [_beginning_option(learner.name, learner.summary) for learner in beginnings.learners()]


def _beginning_option(item_name: str, summary: str) -> Option:
    return Option(Text.assemble((f"{item_name:<22}", "bold"), (summary, "dim")))
