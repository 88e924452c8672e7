"""Command palette. It finds actions, presets, parts and theory pages by names, words and cited papers."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, cast

from textual import events
from textual.app import ComposeResult
from textual.command import CommandInput, CommandList, CommandPalette, Hit, Hits, Provider
from textual.css.query import NoMatches
from textual.system_commands import SystemCommandsProvider
from textual.widgets import LoadingIndicator
from textual.worker import Worker

from engine.core import catalogue
from engine.core.parts import Part, docstring, summary_of
from engine.spec import theory_pages
from engine.spec.preset_index import PresetEntry, index
from hadamard_tui.browsing.preset_list import has_phrase, has_words
from hadamard_tui.screens.modal import Modal
from hadamard_tui.widgets.controls import Lines, PlainInput

BY_NAME, BY_SOURCE, BY_SUMMARY, BY_WORDS = 1.0, 0.8, 0.7, 0.5
"""Scores of matches: in the name, as a phrase in the cited source, in the summary, and in any other text."""

OF_THEORY = 0.1
"""Bonus that ranks theory lines (bounds and laws) before other parts with the same source."""


class Finder(Protocol):
    """Interface of the app for the command palette: methods that open presets, parts and theory pages."""

    async def choose_preset(self, preset: str | None) -> None: ...

    def show_part(self, family: str, kind: str) -> None: ...

    def action_theory(self, address: str = "") -> None: ...


class ActionProvider(SystemCommandsProvider):
    """Source of actions for the command palette.

    A query matches letters of an action's name, or words of the action's help text.
    """

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action_name, summary, act, *_ in self.app.get_system_commands(self.screen):
            if score := matcher.match(action_name) or BY_SUMMARY * has_words(query, summary, ""):
                yield Hit(score, matcher.highlight(action_name), act, help=summary)


class PresetProvider(Provider):
    """Source of presets for the command palette, found by name, title, story, learners and papers.

    Searches wait until the index is read, which takes a second. Each typed character cancels the previous
    search, but not the reading of the index, which all later searches need.
    """

    _reading: asyncio.Future[tuple[PresetEntry, ...]]

    async def startup(self) -> None:
        self._reading = asyncio.ensure_future(asyncio.to_thread(index))

    async def search(self, query: str) -> Hits:
        for entry in await asyncio.shield(self._reading):
            words = " ".join((entry.name, entry.title, entry.story, *entry.learners))
            if score := _match_score(query, entry.name, words, entry.source):
                choose = partial(_finder_app(self).choose_preset, entry.name)
                yield Hit(score, f"Preset: {entry.name}", choose, help=entry.title)


class PartProvider(Provider):
    """Source of parts, such as update rules, for the command palette."""

    async def search(self, query: str) -> Hits:
        for family in catalogue.FOLDERS:
            for kind, member in catalogue.members(family).items():
                words = f"{kind} {docstring(member)}"
                summary = summary_of(member)
                if score := _match_score(query, kind, words, _part_source(member)):
                    score = max(score, BY_SUMMARY * has_words(query, summary, ""))
                    score += OF_THEORY * (family == "theory" and score == BY_SOURCE)
                    show = partial(_finder_app(self).show_part, family, kind)
                    yield Hit(score, f"{family.capitalize()}: {kind}", show, help=summary)


class TheoryProvider(Provider):
    """Source of theory sections for the command palette, found by title, address and text."""

    async def search(self, query: str) -> Hits:
        for address, section in theory_pages.sections().items():
            if score := _match_score(query, f"{section.title} {address}", section.text, ""):
                read = partial(_finder_app(self).action_theory, address)
                yield Hit(score, f"Read: {section.title}", read, help=f"theory/{address}")


def _part_source(member: type[Part]) -> str:
    written = docstring(member).partition("Source:")[2]
    return f"{getattr(member, 'source', '')} {written}"


def _match_score(query: str, entry_name: str, text: str, source: str) -> float:
    if has_words(query, entry_name, ""):
        return BY_NAME
    return BY_SOURCE if has_phrase(query, source) else BY_WORDS * has_words(query, text, source)


def _finder_app(provider: Provider) -> Finder:
    return cast("Finder", provider.app)


class Query(CommandInput, PlainInput):
    """Input line of the command palette."""

    def __init__(self) -> None:
        super().__init__(placeholder="command, preset, panel, part, theorem or paper", select_on_focus=False)


class MatchingCommands(CommandList, Lines, can_focus=False):
    """List of the commands that match the typed words.

    A click on a command that a new search has just removed does nothing.
    """


class Searching(LoadingIndicator):
    """Sign in the command palette that a search is running. It is not animated."""

    def on_mount(self, event: events.Mount) -> None:
        event.prevent_default()  # Textual would animate it 16 times a second, even while it is hidden


class Commands(CommandPalette, Modal[None]):
    """Textual's command palette. It closes at most once, so that a command runs at most once."""

    def __init__(self) -> None:
        super().__init__([ActionProvider, PresetProvider, PartProvider, TheoryProvider])
        self._early_characters = 0

    def on_key(self, event: events.Key) -> None:
        """Insert a character that was typed before the input line had the focus.

        Such characters stay in the order typed, in front of later characters. Backspace deletes the last of
        them.
        """
        is_backspace = event.key == "backspace"
        if not is_backspace and (event.character is None or not event.is_printable):
            return
        event.stop()
        line, place = self.query_one(Query), self._early_characters
        cursor = line.cursor_position
        if not is_backspace:
            line.insert(event.character or "", place)
            added = 1
        elif place:
            line.delete(place - 1, place)
            added = -1
        else:
            added = 0
        self._early_characters += added
        line.cursor_position = cursor + added

    def compose(self) -> ComposeResult:
        stand_ins = {CommandInput: Query, CommandList: MatchingCommands, LoadingIndicator: Searching}
        for widget in super().compose():
            stand_in = stand_ins.get(type(widget))
            yield widget if stand_in is None else stand_in()

    def run_worker(self, work: Any, *arguments: Any, **options: Any) -> Worker[Any]:
        """Start the search for commands. Ignore the error that the list of commands is missing.

        The list is missing if the user closes the palette before the search ends.
        """

        async def search() -> None:
            with suppress(NoMatches):
                await work()

        return super().run_worker(search, *arguments, **options)
