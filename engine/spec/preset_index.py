"""Index of presets for search. It stores the presets' texts, and which parts they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from engine.core.expressions import has_braces
from engine.core.parts import BadInput
from engine.spec import documents, presets, reading
from engine.spec.document_expressions import texts_of
from engine.spec.experiment import SUBJECTS

WORDS = ("title", "story", "source", "subject", "reason")
"""Keys of a preset's texts, which do not affect runs."""


@dataclass(frozen=True)
class PresetEntry:
    """A preset as its file describes it.

    Args:
        name: its name, or the path of its file.
        subject: one of SUBJECTS.
        claims: the texts of its claims.
        kinds: all of its texts that are one word, including the kinds of parts, measures and theory lines.
        digest: hash that changes whenever its runs or charts change.
    """

    name: str
    title: str
    story: str
    source: str
    subject: str
    learners: tuple[str, ...]
    claims: tuple[str, ...]
    kinds: frozenset[str]
    digest: str


@cache
def index() -> tuple[PresetEntry, ...]:
    """Return the entries of all shipped presets that can be read."""
    return tuple(_readable_entries())


def naming(kind: str) -> list[PresetEntry]:
    """Return the entries of the presets that use a part, a measure or a theory line of this kind."""
    return [entry for entry in index() if kind in entry.kinds]


def entry_of(preset: str) -> PresetEntry:
    """Return the entry of a preset, given by name or path. Raises: BadInput if it cannot be read."""
    raw = reading.read_raw(presets.path_of(preset))
    if any(map(has_braces, texts_of(raw).values())):
        raw = documents.with_words(raw)
    title, story, source, subject, _ = (str(raw.get(key, "")) for key in WORDS)
    return PresetEntry(
        preset,
        title,
        story,
        source,
        subject if subject in SUBJECTS else SUBJECTS[-1],
        _texts_at_key(raw.get("learners"), "name"),
        _texts_at_key(raw.get("claims"), "text"),
        frozenset(_words_of_document(raw)),
        digest(raw),
    )


def _readable_entries() -> Iterator[PresetEntry]:
    for preset in presets.names():
        try:
            yield entry_of(preset)
        except BadInput:
            continue


def _texts_at_key(listed: Any, key: str) -> tuple[str, ...]:
    tables = listed if isinstance(listed, list) else []
    return tuple(str(table[key]) for table in tables if isinstance(table, dict) and key in table)


def digest(raw: reading.Raw) -> str:
    """Return a hash of a preset that ignores its texts, and the texts of its claims and pictures."""
    content = {key: part for key, part in raw.items() if key not in WORDS}
    for listed, text in (("claims", "text"), ("pictures", "title")):
        if isinstance(tables := content.get(listed), list):
            content[listed] = [
                {key: part for key, part in table.items() if key != text}
                if isinstance(table, dict)
                else table
                for table in tables
            ]
    written = msgspec.json.encode(content, order="deterministic")
    return hashlib.sha256(written).hexdigest()[:16]


def _words_of_document(raw: Any) -> Iterator[str]:
    if isinstance(raw, str) and len(raw.split()) == 1:
        yield raw
    elif isinstance(raw, dict):
        for child in raw.values():
            yield from _words_of_document(child)
    elif isinstance(raw, list):
        for child in raw:
            yield from _words_of_document(child)
