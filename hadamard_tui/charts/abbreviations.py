"""Shorten names together: parts that they share go first, and different names stay different."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

_EQUALS = " = "
_LETTERS = 8, 5, 3, 2  # that words have, by turns
_WORD = re.compile(r"[^\W\d_]{2,}")
"""Words that may be cut: runs of letters. Numbers and signs stay."""


def ever_shorter(names: Sequence[str], once: bool = True) -> Iterator[list[str]]:
    """Names in ever fewer cells, which say what they give values to once, or not at all."""
    yield (brief := without_common_keys(names, once))
    for letters in _LETTERS:
        yield with_cut_words(brief, letters)


def within(names: Sequence[str], width: int) -> list[str]:
    """Return the names, each shortened as far as `width` requires, if it can be."""
    forms = zip(names, *ever_shorter(names, once=False), strict=True)
    return [next((name for name in form if cell_len(name) <= width), form[-1]) for form in forms]


def without_common_keys(names: Sequence[str], once: bool = True) -> list[str]:
    """Shorten names such as "net, C_w = 1" to "net, 1" if no name has another key at that place.

    With `once` the first of them keeps its key.
    """
    split = [name.split(", ") if name else [] for name in names]
    longest = max(map(len, split), default=0)
    keys = [{_key(parts, place) for parts in split} - {None} for place in range(longest)]
    named = set() if once else set(range(longest))
    shorter = []
    for parts in split:
        shorter_parts = list(parts)
        for place, part in enumerate(parts):
            if len(keys[place]) == 1 and _EQUALS in part:
                shorter_parts[place] = part.partition(_EQUALS)[2] if place in named else part
                named.add(place)
        shorter.append(", ".join(shorter_parts))
    return shorter


def _key(parts: Sequence[str], place: int) -> str | None:
    """What the part of a name at a place gives a value to, if anything; None without such a part."""
    if place >= len(parts):
        return None
    key, equals, _ = parts[place].partition(_EQUALS)
    return key if equals else ""


def with_cut_words(names: Sequence[str], letters: int) -> list[str]:
    """Cut words to so many letters and an ellipsis, or to as many more as distinguish them."""
    words = {word for name in names for word in _WORD.findall(name)}
    cut = {word: _cut(word, letters, words) for word in words}
    return [_WORD.sub(lambda match: cut[match[0]], name) for name in names]


def _cut(word: str, letters: int, words: set[str]) -> str:
    for end in range(letters, len(word)):
        begin = word[:end]
        if cell_len(begin) + 1 >= cell_len(word):
            return word
        if not any(other.startswith(begin) for other in words if other != word):
            return f"{begin}…"
    return word
