"""Convert between text typed into a field and values as in TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.core.parts import BadInput
from engine.spec import raw_values
from hadamard_tui.editing.inline_toml import inline

if TYPE_CHECKING:
    from engine.spec.fields import Field, FieldKind

OPENING, CLOSING = "[{", "]}"


def text_of(value: Any, digits: int | None = None, kind: FieldKind | None = None) -> str:
    """Return a value as a person would type it in a field of a kind.

    The text is exact unless `digits` limits it. The name of a column is quoted where it would be read as
    a position.
    """
    if value is None:
        return ""
    if kind == "column":
        return inline(value) if not isinstance(value, str) or _column(value) != value else value
    if kind == "columns":
        return ", ".join(
            inline(item) if isinstance(item, str) and "," in item else text_of(item, kind="column")
            for item in value
        )
    if isinstance(value, list | tuple):
        return ", ".join(_item(item, digits) for item in value)
    if isinstance(value, dict):
        return inline(value)[1:-1]
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.{digits or 10}g}"
    if digits is not None:
        return short
    return short if float(short) == value else repr(value)  # a form must not change what it only shows


def _item(value: Any, digits: int | None) -> str:
    if isinstance(value, dict | bool):
        return inline(value)
    if isinstance(value, str) and ("," in value or any(bracket in value for bracket in OPENING)):
        return inline(value)
    return f"[{text_of(value, digits)}]" if isinstance(value, list | tuple) else text_of(value, digits)


def value_of(field: Field, text: str) -> Any:
    """Return the value of a text typed in a field.

    Text that is no number stays text: it is an expression, or it is refused later.
    """
    text, kind = text.strip(), field.kind
    if not text:
        return None if field.optional else {} if kind == "table" else text
    match kind:
        case "wholes":
            plain = re.fullmatch(r"[\d\s]*", text)  # 64 64 is two of them, d / 2 is one
            return [_number(item.strip(), int) for item in (text.split() if plain else text.split(","))]
        case "floats":
            return [_number(item, float) for item in _split(text)]
        case "column":
            return _column(text)
        case "columns":
            return [_column(item) for item in _split(text)]
        case "words":
            words = list(_split(text))
            return words[0] if len(words) == 1 and isinstance(field.default, str) else words
        case "items":
            return [_of_toml(item) for item in _split(text)]
        case "table":
            return _table(text)
        case "numbers" | "rates" if "," in text:
            return [_number(item.strip(), float) for item in text.split(",") if item.strip()]
    return _number(text, int if kind == "whole" else float)


def _column(text: str) -> Any:
    """Return a column: its position, true or false, or its name, which may be quoted."""
    if re.fullmatch(r"[+-]?\d+|true|false|\".*\"|'.*'", text):
        return _of_toml(text)
    return text


def _split(text: str) -> Iterator[str]:
    """Split at commas outside brackets and quotes."""
    depth, quote, begin = 0, "", 0
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in OPENING + CLOSING:
            depth += 1 if sign in OPENING else -1
        elif sign == "," and depth == 0:
            yield text[begin:place].strip()
            begin = place + 1
    if last := text[begin:].strip():
        yield last


def _of_toml(text: str) -> Any:
    """Return a value written as TOML, or plain text."""
    try:
        document = raw_values.toml(f"value = {text}")
    except (tomllib.TOMLDecodeError, BadInput):
        return _number(text, float)
    return document["value"] if len(document) == 1 else text


def _table(text: str) -> Any:
    """Return names and values, as in `cw = 2, layer = 30`; a word alone stays a word."""
    table: dict[str, Any] = {}
    inside = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    for item in _split(inside):
        name, sign, value = item.partition("=")
        if not sign:
            return text
        table[name.strip()] = _of_toml(value.strip())
    return table


def _number(text: str, kind: type[int] | type[float]) -> int | float | str:
    for number in (kind, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
