"""Match a text with words that a person types to find it."""

from __future__ import annotations

import re
from functools import lru_cache

THEOREM = "thm"
"""Form that all spellings of the word are replaced by."""


def has_words(query: str, text: str, source: str) -> bool:
    """Whether a text or its source has a word that begins with each typed word; numbers must be equal.

    A theorem is searched in sources only, in any spelling.
    """
    typed = _words(query)
    text_words = _words(source) if THEOREM in typed else _words(text) | _words(source)
    return bool(typed) and all(
        word in text_words if word.isdigit() else any(candidate.startswith(word) for candidate in text_words)
        for word in typed
    )


def has_phrase(query: str, source: str) -> bool:
    """Whether a source has the typed words, at least two, one after the other.

    "thm 3" is in "Thm 3" and in "Thms 2 and 3", and not in "Thm 2; theory.md §3".
    """
    typed, source_words = _in_order(query), _in_order(source)
    places = range(len(source_words) - len(typed) + 1)
    return len(typed) > 1 and any(source_words[at : at + len(typed)] == typed for at in places)


@lru_cache(maxsize=2048)
def _in_order(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, with the word for theorems before each of several numbers.

    A separator of sources is a word of its own.
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
