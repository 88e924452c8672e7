"""Raw values of user input, before they are interpreted: TOML parsing, and limits on depth and size."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from engine.core import texts
from engine.core.parts import BadInput

DEEPEST = 32
"""Largest number of nested tables and lists; an experiment has five levels."""

WIDEST = 63
"""Largest number of bits of an integer, besides its sign, as in TOML."""

MULTILINE = frozenset({"story", "reason", "problem.matrix.separator", "problem.target.separator"})
"""Paths of texts that may contain line breaks and tabs, which are shown as spaces.

A separator must not be a tab character, but a later check refuses it with a better message, which names the
word to write instead.
"""

# The time that tomllib takes for a dotted key grows with the square of its length.
_PART = r"""(?:[A-Za-z0-9_-]++|"(?!"")(?>[^"\\\n]|\\.)*+"|'(?!'')[^'\n]*+')"""
_LINK = rf"(?>{_PART}[ \t]*+\.[ \t]*+)"
_TOKEN = re.compile(
    "|".join(
        (
            r"\#[^\n]*+",
            r'"""(?>[^"\\]|\\[\s\S]|"(?!""))*+"{3,5}+',
            r"'''(?>[^']|'(?!''))*+'{3,5}+",
            rf"(?P<long_key>{_LINK}{{64}})",
            rf"{_LINK}++",
            _PART,
            r"""(?P<unterminated>["'])""",
            r"""[^A-Za-z0-9_"'#-]++""",
        )
    )
)
"""Pattern of TOML tokens, detailed enough to distinguish keys from texts and comments. Tokens cover a text
without gaps. The time to match all tokens of a text is proportional to its length.
"""


def document(content: bytes) -> dict[str, Any]:
    """Return the values of a TOML file. Raises: BadInput with the line number of an error."""
    text = ""
    try:
        text = content.decode("utf-8-sig")
        return toml(text)
    except tomllib.TOMLDecodeError as error:
        fault, _, where = str(error).removesuffix(")").partition(" (at ")
        where = where.replace("end of document", f"line {text.count(chr(10)) + 1}, the end")
        raise BadInput(where, f"malformed TOML: {fault}") from error
    except UnicodeDecodeError as error:
        raise BadInput("", f"not a text file in UTF-8: {error.reason}") from error


def toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML text.

    Raises: tomllib.TOMLDecodeError for malformed TOML, BadInput for long keys, long numbers or deep nesting.
    """
    if match := _first_long_key(text):
        raise BadInput(
            _line_in_words(text, match), "a key has more than 64 parts; no field is nested so deeply"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise BadInput("", f"tables or lists are nested too deeply; at most {DEEPEST} levels fit") from error
    except ValueError as error:
        where = _line_in_words(text, re.search(r"[\d_]{1000}", text))
        raise BadInput(where, f"a whole number is too large; at most {WIDEST} bits fit") from error


def _first_long_key(text: str) -> re.Match[str] | None:
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "long_key":
            return token
        if token.lastgroup == "unterminated":
            break
    return None


def _line_in_words(text: str, match: re.Match[str] | None) -> str:
    return "" if match is None else f"line {text.count(chr(10), 0, match.start()) + 1}"


def check(raw: Any) -> None:
    """Check the depth and size of values, and that their texts are printable.

    Raises: BadInput with the place, such as `learners[0].name`.
    """
    # A list replaces recursion, because hostile nesting must not exhaust Python's call stack.
    waiting = [("", raw, 0)]
    while waiting:
        place, raw_value, depth = waiting.pop()
        if depth > DEEPEST:
            raise BadInput(place, f"nested too deeply; at most {DEEPEST} levels fit")
        if isinstance(raw_value, str):
            if fault := texts.fault(raw_value, "\n\t" if place in MULTILINE else ""):
                raise BadInput(place, fault)
        elif isinstance(raw_value, int) and raw_value.bit_length() > WIDEST:
            raise BadInput(place, f"the number is too large; at most {WIDEST} bits fit")
        else:
            inner = [
                (f"{place}{step}".lstrip("."), member, depth + 1)
                for step, member in _items_with_steps(raw_value, place)
                if depth == DEEPEST or not _is_plain(member)
            ]
            waiting += reversed(inner)


def _is_plain(raw_value: Any) -> bool:
    if isinstance(raw_value, str):
        return raw_value.isascii() and raw_value.isprintable()
    return isinstance(raw_value, float)


def _items_with_steps(container: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the items of a table or list, each with its step of the path: `.key` or `[number]`."""
    if isinstance(container, list | tuple):
        yield from ((f"[{number}]", member) for number, member in enumerate(container))
    elif isinstance(container, Mapping):
        for key, member in container.items():
            if fault := texts.fault(str(key)):
                raise BadInput(place, f"the key {texts.quoted(key)} {fault}")
            yield f".{key}", member
