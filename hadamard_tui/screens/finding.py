"""Palette entries beside actions: presets, and parts by their names, words and papers."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Protocol, cast

from textual.command import Hit, Hits, Provider
from textual.system_commands import SystemCommandsProvider

from engine.core import catalogue
from engine.core.parts import Part, docstring, summary_of
from engine.spec.preset_index import Entry, index
from hadamard_tui.browsing.preset_list import has_phrase, has_words

BY_NAME, BY_SOURCE, BY_SUMMARY, BY_WORDS = 1.0, 0.8, 0.7, 0.5
"""Scores of matches: in the name, as a phrase in the source, in the summary, and in other texts."""

OF_THEORY = 0.1
"""Amount by which theory lines come before others with the same source."""


class Finder(Protocol):
    """An app that acts on the chosen entry."""

    async def choose_preset(self, preset: str | None) -> None: ...

    def show_part(self, family: str, kind: str) -> None: ...


class ActionProvider(SystemCommandsProvider):
    """Actions by letters of their names, and by the words of their help."""

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, summary, act, *_ in self.app.get_system_commands(self.screen):
            if score := matcher.match(name) or BY_SUMMARY * has_words(query, summary, ""):
                yield Hit(score, matcher.highlight(name), act, help=summary)


class PresetProvider(Provider):
    """Presets by name, by the words of titles, stories and learners, and by papers."""

    _entries: tuple[Entry, ...] = ()

    async def startup(self) -> None:
        self._entries = await asyncio.to_thread(index)

    async def search(self, query: str) -> Hits:
        for entry in self._entries:
            words = " ".join((entry.name, entry.title, entry.story, *entry.learners))
            if score := _score(query, entry.name, words, entry.source):
                choose = partial(_app(self).choose_preset, entry.name)
                yield Hit(score, f"Preset: {entry.name}", choose, help=entry.title)


class PartProvider(Provider):
    """Members of all families, to read about, with the presets that name them."""

    async def search(self, query: str) -> Hits:
        for family in catalogue.FOLDERS:
            for kind, member in catalogue.members(family).items():
                words = f"{kind} {docstring(member)}"
                summary = summary_of(member)
                if score := _score(query, kind, words, _source(member)):
                    score = max(score, BY_SUMMARY * has_words(query, summary, ""))
                    score += OF_THEORY * (family == "theory" and score == BY_SOURCE)
                    show = partial(_app(self).show_part, family, kind)
                    yield Hit(score, f"{family.capitalize()}: {kind}", show, help=summary)


def _source(member: type[Part]) -> str:
    """Return the source of a part, from its documentation."""
    written = docstring(member).partition("Source:")[2]
    return f"{getattr(member, 'source', '')} {written}"


def _score(query: str, name: str, text: str, source: str) -> float:
    if has_words(query, name, ""):
        return BY_NAME
    return BY_SOURCE if has_phrase(query, source) else BY_WORDS * has_words(query, text, source)


def _app(provider: Provider) -> Finder:
    return cast("Finder", provider.app)
