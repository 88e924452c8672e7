"""List of the user's own presets and the built-in presets, and the search for presets by words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from engine.core.catalogue import members
from engine.core.parts import BadInput, summary_of
from engine.spec.experiment import SUBJECTS
from engine.spec.preset_index import PresetEntry, entry_of, index
from engine.spec.presets import name_of
from hadamard_tui.state import state_file
from hadamard_tui.tours import ESSENTIALS, paths, talks

THEOREM = "thm"
"""Word that replaces all spellings of "theorem" in a search."""


def has_words(query: str, text: str, source: str) -> bool:
    """Return whether every typed word is the beginning of a word in `text` or in `source` (cited papers).

    A typed number must equal a complete word. If the query contains "theorem" in any spelling, only `source`
    is searched.
    """
    typed = _words(query)
    text_words = _words(source) if THEOREM in typed else _words(text) | _words(source)
    return bool(typed) and all(
        word in text_words if word.isdigit() else any(candidate.startswith(word) for candidate in text_words)
        for word in typed
    )


def has_phrase(query: str, source: str) -> bool:
    """Return whether a citation contains the typed words in this order, at least two of them.

    For example, "thm 3" is in "Thm 3" and in "Thms 2 and 3". It is not in "Thm 2; HN20 §3".
    """
    typed, source_words = _in_order(query), _in_order(source)
    places = range(len(source_words) - len(typed) + 1)
    return len(typed) > 1 and any(source_words[at : at + len(typed)] == typed for at in places)


@lru_cache(maxsize=2048)
def _in_order(text: str) -> tuple[str, ...]:
    """Convert a text to a list of normal words, in the form that `has_phrase` compares.

    "Thms 2 and 3" becomes "thm 2 thm 3". A character that separates citations counts as a word.
    """
    words: list[str] = []
    for word in re.findall(r"\w+|[;.§(]", text.casefold()):
        last = words[-2:]
        if word.isdigit() and last[:1] == [THEOREM] and last[-1].isdigit():
            words.append(THEOREM)
        elif word == "and" and last[:1] == [THEOREM]:
            continue
        words.append(_plain(word))
    return tuple(words)


@lru_cache(maxsize=2048)
def _words(text: str) -> frozenset[str]:
    return frozenset(map(_plain, re.findall(r"\w+", text.casefold())))


def _plain(word: str) -> str:
    return THEOREM if word in ("theorem", "theorems", "thms") else word


YOURS = "Yours"
"""Heading of the user's own presets."""

PATHS = "Guided paths"
"""Heading of the guided paths."""

NEW = "new experiment"
"""Name of the list entry that starts a new experiment."""

NEW_TITLE = "Choose a problem and a learner, then run"
OWN_TABLE = "your data"
"""Name of the list entry that opens the page for the user's own tables."""

OWN_TABLE_TITLE = "Choose a table and its label, then run"
OWN_TABLE_STORY = (
    "Several learners train on your table, and are measured on held-out rows. A diagnosis says which "
    "inductive bias the table rewards."
)

NEW_STORY = "Every part can be exchanged afterwards, in the first row of the screen and in the set-up."

PresetGroup = tuple[str, Sequence[PresetEntry]]
"""Heading of a group in the list of presets, and the entries below the heading."""


def groups(opened: str | None = None) -> list[PresetGroup]:
    """Return the groups of the preset list.

    The first groups are the user's own presets, recommended presets, and guided paths. Groups of all other
    built-in presets follow, by subject. The first group starts with entries for a new experiment and for the
    user's own table.

    Args:
        opened: name or path of the open preset. A path is listed among the user's own presets.
    """
    opened_files = [opened] if opened is not None and opened.endswith(".toml") else []
    own_entries = [
        PresetEntry(NEW, NEW_TITLE, NEW_STORY, "", YOURS, (), (), frozenset(), ""),
        PresetEntry(OWN_TABLE, OWN_TABLE_TITLE, OWN_TABLE_STORY, "", YOURS, (), (), frozenset(), ""),
        *(_own_entry(path) for path in dict.fromkeys([*opened_files, *state_file.own_presets()])),
    ]
    entries_by_name = {entry.name: entry for entry in index()}
    essentials = talks()[ESSENTIALS]
    first = [entries_by_name.pop(stop.preset) for stop in essentials.stops if stop.preset in entries_by_name]
    all_groups: list[PresetGroup] = [(YOURS, own_entries), (essentials.title, first), (PATHS, [*_paths()])]
    for subject in SUBJECTS:
        entries = [entry for entry in entries_by_name.values() if entry.subject == subject]
        all_groups.append((subject, entries))
    return [group for group in all_groups if group[1]]


def _paths() -> Iterator[PresetEntry]:
    """Yield an entry of the preset list for each guided path.

    A search for words also looks into the questions that the path asks.
    """
    for path_name, path in paths().items():
        questions = " ".join(stop.predict for stop in path.stops)
        yield PresetEntry(path_name, path.title, questions, "", PATHS, (), (), frozenset(), "")


def matching(all_groups: Iterable[PresetGroup], typed: str) -> list[PresetGroup]:
    """Return the groups with only the presets that contain the typed words.

    The search covers names, texts, claims, learners, parts and sources of presets, and the summaries of their
    architectures.
    """
    if not typed.split():
        return list(all_groups)
    matches = (
        (heading, [entry for entry in entries if _has(entry, heading, typed)])
        for heading, entries in all_groups
    )
    return [group for group in matches if group[1]]


def best(matches: Iterable[PresetGroup], typed: str) -> PresetEntry | None:
    """Return the first preset whose name contains the typed words.

    If there is none, return the first preset that matches the words in another way.
    """
    all_entries = [entry for _, entries in matches for entry in entries]
    return next(
        (entry for entry in all_entries if has_words(typed, shown_name(entry), "")),
        next(iter(all_entries), None),
    )


def shown_name(entry: PresetEntry) -> str:
    """Return the name of a preset; for a preset in a file, the file's name without the folder."""
    return name_of(entry.name)


def _has(entry: PresetEntry, heading: str, typed: str) -> bool:
    words = (
        shown_name(entry),
        entry.title,
        entry.story,
        *entry.claims,
        *entry.learners,
        *entry.kinds,
        *(summary_of(member) for kind, member in members("architectures").items() if kind in entry.kinds),
        heading,
        entry.subject,
    )
    return has_words(typed, " ".join(words), entry.source)


def _own_entry(path: str) -> PresetEntry:
    """Return the entry of a user's own preset; if the preset cannot be read, the entry states the reason."""
    try:
        return entry_of(path)
    except BadInput as error:
        wrong = f"{Path(path).name} cannot be opened: {error.fault}"
        return PresetEntry(path, wrong, "", "", SUBJECTS[-1], (), (), frozenset(), "")
