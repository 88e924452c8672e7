"""Raw values from outside, before anything is known of their meaning: TOML, and what none of them may be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from engine.core import texts
from engine.core.parts import BadInput

DEEPEST = 32
"""Levels of tables and lists in one another; an experiment has five."""

WIDEST = 63
"""Bits of a whole number, as TOML has them."""

MULTILINE = frozenset({"story"})
"""Places of texts that may have line breaks and tabs: wherever they are shown, these become spaces."""

# The time that tomllib takes for a dotted key grows with the square of its length.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")


def document(content: bytes) -> dict[str, Any]:
    """The values that a TOML file says. Raises: BadInput with the line."""
    text = ""
    try:
        text = content.decode("utf-8-sig")
        return toml(text)
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).removesuffix(")").partition(" (at ")
        where = where.replace("end of document", f"line {text.count(chr(10)) + 1}, the end")
        raise BadInput(where, f"malformed TOML: {what}") from error
    except UnicodeDecodeError as error:
        raise BadInput("", f"not a text file in UTF-8: {error.reason}") from error


def toml(text: str) -> dict[str, Any]:
    """The values that a TOML text says.

    Raises: tomllib.TOMLDecodeError for malformed TOML, BadInput for what would take forever or too many
    digits or levels.
    """
    if found := _LONG_KEY.search(text):
        raise BadInput(_line(text, found), "a key of more than 64 parts; no place has so many")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise BadInput("", f"tables or lists are nested too deeply; at most {DEEPEST} levels fit") from error
    except ValueError as error:
        where = _line(text, re.search(r"[\d_]{1000}", text))
        raise BadInput(where, f"a whole number has too many digits; at most {WIDEST} bits fit") from error


def _line(text: str, found: re.Match[str] | None) -> str:
    return "" if found is None else f"line {text.count(chr(10), 0, found.start()) + 1}"


def check(raw: Any) -> None:
    """See that values are no deeper and no larger than any meaning needs, and their texts printable.

    Raises: BadInput with the place, such as `learners[0].name`.
    """
    waiting = [("", raw, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if depth > DEEPEST:
            raise BadInput(place, f"nested too deeply; at most {DEEPEST} levels fit")
        if isinstance(value, str):
            if fault := texts.fault(value, "\n\t" if place in MULTILINE else ""):
                raise BadInput(place, fault)
        elif isinstance(value, int) and value.bit_length() > WIDEST:
            raise BadInput(place, f"the number is too large; at most {WIDEST} bits fit")
        else:
            inner = [(f"{place}{step}".lstrip("."), item, depth + 1) for step, item in _items(value, place)]
            waiting += reversed(inner)


def _items(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """What is in a table or list, with the last step of its place."""
    if isinstance(value, list | tuple):
        yield from ((f"[{number}]", item) for number, item in enumerate(value))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if fault := texts.fault(str(key)):
                raise BadInput(place, f"the key {texts.quoted(key)} {fault}")
            yield f".{key}", item
