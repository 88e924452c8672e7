"""Whether a text has the words that a person types to find it."""

from __future__ import annotations

import re
from functools import lru_cache


def has_words(query: str, text: str, source: str) -> bool:
    """Whether a text or its source has words that begin with each word that is typed, numbers as they are.

    Theorems are looked for among sources alone, however these write them.
    """
    typed = _words(query)
    said = _words(source) if "thm" in typed else _words(text) | _words(source)
    return bool(typed) and all(
        word in said if word.isdigit() else any(one.startswith(word) for one in said) for word in typed
    )


@lru_cache(maxsize=2048)
def _words(text: str) -> frozenset[str]:
    found = re.findall(r"\w+", text.casefold())
    return frozenset("thm" if word in ("theorem", "theorems", "thms") else word for word in found)
