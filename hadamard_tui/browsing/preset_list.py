"""List of the user's presets and the built-in presets, and search for presets by words."""

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
    """Return whether each typed word begins a word of `text` or of `source`, which cites papers.

    A typed number must be a complete word. A query that contains "theorem", in any spelling, searches only
    `source`.
    """
    typed = _word_set(query)
    text_words = _word_set(source) if THEOREM in typed else _word_set(text) | _word_set(source)
    return bool(typed) and all(
        word in text_words if word.isdigit() else any(text_word.startswith(word) for text_word in text_words)
        for word in typed
    )


def has_phrase(query: str, source: str) -> bool:
    """Return whether a citation contains the typed words as a phrase. A single word is no phrase.

    "thm 3" is in "Thm 3" and in "Thms 2 and 3", but not in "Thm 2; HN20 §3".
    """
    typed, source_words = _normal_words(query), _normal_words(source)
    places = range(len(source_words) - len(typed) + 1)
    return len(typed) > 1 and any(source_words[place : place + len(typed)] == typed for place in places)


@lru_cache(maxsize=2048)
def _normal_words(text: str) -> tuple[str, ...]:
    """Split a text into normal words: "Thms 2 and 3" becomes "thm 2 thm 3".

    A character that separates citations is a word, too, so that no phrase crosses it.
    """
    words: list[str] = []
    for word in re.findall(r"\w+|[;.§(]", text.casefold()):
        last = words[-2:]
        if word.isdigit() and last[:1] == [THEOREM] and last[-1].isdigit():
            words.append(THEOREM)
        elif word == "and" and last[:1] == [THEOREM]:
            continue
        words.append(_normal_word(word))
    return tuple(words)


@lru_cache(maxsize=2048)
def _word_set(text: str) -> frozenset[str]:
    return frozenset(map(_normal_word, re.findall(r"\w+", text.casefold())))


def _normal_word(word: str) -> str:
    return THEOREM if word in ("theorem", "theorems", "thms") else word


YOURS = "Yours"

PATHS = "Guided paths"

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

NEW_STORY = (
    "Afterwards, you can exchange the problem, the learners and the protocol, in the first row of the screen "
    "or in the set-up."
)

PresetGroup = tuple[str, Sequence[PresetEntry]]
"""Heading of a group in the list of presets, and the entries below the heading."""


def groups(opened: str | None = None) -> list[PresetGroup]:
    """Return the user's presets, the recommended presets, the guided paths, and other presets by subject.

    The first group starts with entries for a new experiment and for the user's table.

    Args:
        opened: name or path of the open preset. A path is listed among the user's presets.
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
    all_groups: list[PresetGroup] = [
        (YOURS, own_entries),
        (essentials.title, first),
        (PATHS, [*_path_entries()]),
    ]
    for subject in SUBJECTS:
        entries = [entry for entry in entries_by_name.values() if entry.subject == subject]
        all_groups.append((subject, entries))
    return [group for group in all_groups if group[1]]


def _path_entries() -> Iterator[PresetEntry]:
    for path_name, path in paths().items():
        questions = " ".join(stop.predict for stop in path.stops)
        yield PresetEntry(path_name, path.title, questions, "", PATHS, (), (), frozenset(), "")


def matching(all_groups: Iterable[PresetGroup], typed: str) -> list[PresetGroup]:
    """Return the groups, reduced to presets that contain the typed words.

    The search covers names, texts, claims, learners, parts and sources of presets.
    """
    if not typed.split():
        return list(all_groups)
    matching_groups = (
        (heading, [entry for entry in entries if _is_match(entry, heading, typed)])
        for heading, entries in all_groups
    )
    return [group for group in matching_groups if group[1]]


def best(matches: Iterable[PresetGroup], typed: str) -> PresetEntry | None:
    """Return the first preset in `matches` whose name has the typed words, or else the first preset."""
    all_entries = [entry for _, entries in matches for entry in entries]
    return next(
        (entry for entry in all_entries if has_words(typed, shown_name(entry), "")),
        next(iter(all_entries), None),
    )


def shown_name(entry: PresetEntry) -> str:
    return name_of(entry.name)


def _is_match(entry: PresetEntry, heading: str, typed: str) -> bool:
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
    try:
        return entry_of(path)
    except BadInput as error:
        wrong = f"{Path(path).name} cannot be opened: {error.fault}"
        return PresetEntry(path, wrong, "", "", SUBJECTS[-1], (), (), frozenset(), "")
