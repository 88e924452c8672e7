"""Words of presets that have another name today: they are accepted, and answered with the new one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from engine.core import catalogue
from engine.spec.numbers import alternatives, entries_of, is_struct, items_of, struct_in, types_of

Struct = type[msgspec.Struct]

RENAMED: dict[str, dict[str, str]] = {}
"""New words by the former ones, below the place where they stand:

    "updates"                              a family, for the kinds of its members
    "updates.egu", "Picture"               a part, or the class of another table, for its keys
    "updates.egu.start", "Picture.summary" a key of one of these, for the words that may stand there
"""

NAMES_OF_LINES = ("Picture.lines", "Picture.relative", "Contour.line")
"""Keys whose words are kinds of the family theory, beside those of claims."""

_words: ContextVar[dict[str, str] | None] = ContextVar("_words", default=None)


@contextmanager
def noted() -> Iterator[dict[str, str]]:
    """Collect the former words that are read inside the block, with what they are called now."""
    words: dict[str, str] = {}
    token = _words.set(words)
    try:
        yield words
    finally:
        _words.reset(token)


def note(former: str, new: str) -> None:
    """Note that a former word was read."""
    if (words := _words.get()) is not None:
        words[former] = new


def sentence(preset: str, words: Mapping[str, str]) -> str:
    """The former words of a preset, and what they are called now, in one line."""
    return f"{preset}: " + ", ".join(f"{former} is now called {new}" for former, new in words.items())


def with_new_words(kind: Any, value: Any, learners: Collection[str]) -> Any:
    """Return a value, which stands where presets have a `kind`, with new words in place of former ones.

    A former key stays in a table that has the new one, too, and is refused there. A word that is the name of
    one of the `learners` stays.
    """
    return _with_new_words(alternatives(kind), value, "", learners) if RENAMED else value


def new_key(struct: Struct, key: str) -> str:
    """What a key of a table is called today."""
    return _new(_name_of(struct), key)


def new_kind(structs: Collection[Struct], kind: str) -> str:
    """What a kind among parts is called today."""
    return next((_new(family, kind) for family in map(_family_of, structs) if family), kind)


def _with_new_words(kinds: tuple[Any, ...], value: Any, place: str, learners: Collection[str]) -> Any:
    structs = [kind for kind in kinds if is_struct(kind)]
    if isinstance(value, str) and any(map(_family_of, structs)):
        return new_kind(structs, value)
    if isinstance(value, str):
        names_line = _names_line(place) and value not in learners
        return _new("theory" if names_line else place, value)
    if isinstance(value, list | tuple):
        return [_with_new_words(alternatives(items_of(kinds)), item, place, learners) for item in value]
    if not isinstance(value, Mapping):
        return value
    if isinstance(kind := value.get("kind"), str):
        value = {**value, "kind": new_kind(structs, kind)}
    if (struct := struct_in(kinds, value)) is None:
        entries = alternatives(entries_of(kinds))
        return {key: _with_new_words(entries, entry, place, learners) for key, entry in value.items()}
    name, types = _name_of(struct), types_of(struct)
    renamed = RENAMED.get(name, {})
    keys = {key: key if renamed.get(key, key) in value else _new(name, key) for key in value}
    return {
        keys[key]: _with_new_words(alternatives(types.get(keys[key])), entry, f"{name}.{keys[key]}", learners)
        for key, entry in value.items()
    }


def _new(place: str, word: str) -> str:
    new = RENAMED.get(place, {}).get(word, word)
    if new != word:
        note(word, new)
    return new


def _names_line(place: str) -> bool:
    """Whether the words at a place are kinds of lines of the theory."""
    table, _, key = place.rpartition(".")
    family, _, kind = table.partition(".")
    of_claim = family == "claims" and key in getattr(catalogue.members("claims")[kind], "line_fields", ())
    return of_claim or place in NAMES_OF_LINES


def _name_of(struct: Struct) -> str:
    """What RENAMED calls a table: a part by its family and kind, another table by its class."""
    family = _family_of(struct)
    return f"{family}.{struct.__struct_config__.tag}" if family else struct.__name__


def _family_of(struct: Struct) -> str:
    """The family of a part, or the class that it is derived from; empty for tables without a kind."""
    if struct.__struct_config__.tag_field != "kind":
        return ""
    folders = catalogue.FOLDERS.items()
    families = (family for family, folder in folders if struct.__module__.startswith(f"{folder}."))
    return next(families, struct.__mro__[1].__name__)
