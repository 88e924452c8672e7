"""Texts from outside the program: which characters they may contain, and how messages quote them."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

REFUSED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Refused Unicode categories: control characters, invisible formatting, undecodable bytes, and separators of
lines and paragraphs. In a terminal, such characters move the cursor, change the reading direction or begin
commands.
"""

LONGEST_QUOTE = 80
"""Maximum number of characters of a quoted value."""

LONGEST_LIST, FIRST = 600, 5
"""Largest length of a list of choices that a message shows in full.

Of a longer list, the message shows the first FIRST choices and the last one.
"""

LONGEST_WORD, LONGEST_PART = 300, 1000
"""Largest numbers of characters of one word in a message, and of the whole message.

Usual paths and lists of choices are shorter.
"""


def fault(text: str, allowed: str = "") -> str:
    """Return a message about the first refused character of `text`, or "" if no character is refused.

    Characters in `allowed` are not refused.
    """
    if text.isprintable() and text.isascii():
        return ""
    refused = next((letter for letter in text if letter not in allowed and _is_refused(letter)), None)
    if refused is None:
        return ""
    remedy = "use an emoji that is a single character" if refused == "\u200d" else "leave it out"
    return f"holds {_letter_name(refused)}, which terminals do not show as text; {remedy}"


def printable(text: str) -> str:
    """Return `text` without its refused characters."""
    return text if not fault(text) else "".join(letter for letter in text if not _is_refused(letter))


def escaped(text: str) -> str:
    r"""Return `text` with an escape, such as \x1b, in place of every refused character."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        letter.encode("unicode_escape").decode() if _is_refused(letter) else letter for letter in text
    )


def message(text: str, longest: int = LONGEST_PART) -> str:
    """Return a message that can be printed: refused characters are escaped, and long texts shortened."""
    words = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: cut(word[0], LONGEST_WORD), escaped(text))
    return cut(words, longest)


def cut(text: str, longest: int) -> str:
    """Return `text` with at most `longest` characters: an ellipsis replaces the middle of a longer text."""
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 1]}…{text[-end:]}"


def quoted(value: object) -> str:
    """Return `repr(value)`, shortened to LONGEST_QUOTE characters, for use in a message."""
    return cut(repr(value), LONGEST_QUOTE)


def reason_of(error: BaseException) -> str:
    """Return the message of an error on one line, or the type of the error if it has no message."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(text.split()) or type(error).__name__


def nearest(word: str, choices: list[str]) -> str:
    """Return a message that suggests the choice most similar to an unknown word, and lists the choices."""
    guess = difflib.get_close_matches(word, choices, n=1)
    available = f"the choices are {listed(choices)}" if choices else "there are no names to choose from"
    return f"did you mean {guess[0]}? {available}" if guess else available


def listed(choices: Iterable[str]) -> str:
    """Join choices by commas. A long list is cut: its first few choices, its last choice, and the count."""
    cut_choices = [cut(choice, LONGEST_QUOTE) for choice in choices]
    text = ", ".join(cut_choices)
    if len(text) <= LONGEST_LIST or len(cut_choices) <= FIRST + 1:
        return text
    return f"{', '.join(cut_choices[:FIRST])}, … {cut_choices[-1]} ({len(cut_choices)} in all)"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural, such as "1 row" or "2 rows"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _is_refused(letter: str) -> bool:
    return unicodedata.category(letter) in REFUSED


def _letter_name(letter: str) -> str:
    plain = {"\n": "a line break", "\r": "a line break", "\t": "a tab"}
    if unicodedata.category(letter) == "Cs":
        return "bytes that are not UTF-8"
    name = unicodedata.name(letter, "control character").lower()
    return plain.get(letter) or f"U+{ord(letter):04X} ({name})"
