"""What the shipped presets say and name, for those who look for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.core.parts import BadInput
from engine.spec import presets, reading


@dataclass(frozen=True)
class Entry:
    """A preset as its file says it.

    Args:
        kinds: the parts, measures and lines that it names, among other short words.
    """

    name: str
    title: str
    story: str
    source: str
    learners: tuple[str, ...]
    kinds: frozenset[str]


@cache
def index() -> tuple[Entry, ...]:
    """Every shipped preset that can be read."""
    return tuple(_entries())


def naming(kind: str) -> list[Entry]:
    """The presets that name a part, a measure or a line of the theory."""
    return [entry for entry in index() if kind in entry.kinds]


def _entries() -> Iterator[Entry]:
    for name in presets.names():
        try:
            raw = reading.read_raw(presets.path_of(name))
        except BadInput:
            continue
        title, story, source = (str(raw.get(key, "")) for key in ("title", "story", "source"))
        listed = raw.get("learners")
        learners = (
            [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        )
        yield Entry(name, title, story, source, tuple(map(str, learners)), frozenset(_words(raw)))


def _words(value: Any) -> Iterator[str]:
    """The texts of a document that are a single word."""
    if isinstance(value, str) and len(value.split()) == 1:
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)
