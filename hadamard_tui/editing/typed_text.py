"""Conversion of values to one-line TOML, and to typed text and back; steps between typed numbers."""

from __future__ import annotations

import json
import math
import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from engine.core.parts import BadInput
from engine.spec import raw_values

if TYPE_CHECKING:
    from engine.spec.fields import Field, FieldKind


def inline_toml(value: Any) -> str:
    """Return a value as TOML on one line. Entries that are None are left out."""
    if isinstance(value, dict):
        pairs = ((key, child) for key, child in value.items() if child is not None)
        return "{" + ", ".join(f"{_toml_key(key)} = {inline_toml(child)}" for key, child in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline_toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else inline_toml(key)


OPENING, CLOSING = "[{", "]}"


def text_of(value: Any, digits: int | None = None, kind: FieldKind | None = None) -> str:
    """Return the text that a user would type for `value` in a field of kind `kind`.

    The text is exact unless `digits` limits its digits. The name of a column gets quotes if it would
    otherwise be read as a number, true or false.
    """
    if value is None:
        return ""
    if kind == "column":
        return inline_toml(value) if not isinstance(value, str) or _column_of_text(value) != value else value
    if kind == "columns":
        return ", ".join(
            inline_toml(column)
            if isinstance(column, str) and "," in column
            else text_of(column, kind="column")
            for column in value
        )
    if isinstance(value, list | tuple):
        return ", ".join(_item_text(element, digits) for element in value)
    if isinstance(value, dict):
        return inline_toml(value)[1:-1]
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.{digits or 10}g}"
    if digits is not None:
        return short
    return short if float(short) == value else repr(value)  # showing a value must not change it


def _item_text(value: Any, digits: int | None) -> str:
    if isinstance(value, dict | bool):
        return inline_toml(value)
    if isinstance(value, str) and ("," in value or any(bracket in value for bracket in OPENING)):
        return inline_toml(value)
    return f"[{text_of(value, digits)}]" if isinstance(value, list | tuple) else text_of(value, digits)


def value_of(field: Field, text: str) -> Any:
    """Return the value of a text that was typed into a field.

    In a field of numbers, a text that is not a number is returned unchanged, because it may be an expression.
    Expressions are checked later.
    """
    text, kind = text.strip(), field.kind
    if not text:
        return None if field.optional else {} if kind == "table" else text
    match kind:
        case "wholes":
            plain = re.fullmatch(r"[\d\s]*", text)  # "64 64" is two numbers, "d / 2" is one
            return [
                _parsed_number(part.strip(), int) for part in (text.split() if plain else text.split(","))
            ]
        case "floats":
            return [_parsed_number(part, float) for part in _parts_between_commas(text)]
        case "column":
            return _column_of_text(text)
        case "columns":
            return [_column_of_text(part) for part in _parts_between_commas(text)]
        case "words":
            words = list(_parts_between_commas(text))
            return words[0] if len(words) == 1 and isinstance(field.default, str) else words
        case "items":
            return [_toml_value(part) for part in _parts_between_commas(text)]
        case "table":
            return _table_of_text(text)
        case "numbers" | "rates" if "," in text:
            return [_parsed_number(part.strip(), float) for part in text.split(",") if part.strip()]
    return _parsed_number(text, int if kind == "whole" else float)


def _column_of_text(text: str) -> Any:
    """Return a typed column as a position, a name or a boolean.

    The name may be quoted. For an index of rows, true means the first column, and false means no column.
    """
    if re.fullmatch(r"[+-]?\d+|true|false|\".*\"|'.*'", text):
        return _toml_value(text)
    return text


def _parts_between_commas(text: str) -> Iterator[str]:
    """Split a text at commas, except commas inside brackets or quotes."""
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


def _toml_value(text: str) -> Any:
    """Parse a text as a TOML value or else as a number. Return any other text unchanged."""
    try:
        document = raw_values.toml(f"value = {text}")
    except (tomllib.TOMLDecodeError, BadInput):
        return _parsed_number(text, float)
    return document["value"] if len(document) == 1 else text


def _table_of_text(text: str) -> Any:
    """Return the table that a text such as `cw = 2, layer = 30` describes, or the text if it has no `=`."""
    table: dict[str, Any] = {}
    inside = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    for part in _parts_between_commas(inside):
        key, sign, value = part.partition("=")
        if not sign:
            return text
        table[key.strip()] = _toml_value(value.strip())
    return table


def _parsed_number(text: str, kind: type[int] | type[float]) -> int | float | str:
    for number in (kind, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


PREFERRED = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
"""Ten preferred numbers per decade, with about equal ratios. Source: ISO 3, series R10."""

SMALLEST = 0.01
"""Size of a step from 0 for a number that need not be whole."""

MOST_TRIED = 8
"""Maximum number of steps that are tried until a number fits the set-up."""

_FACTOR = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)\s*([*/]?)\s*(?=[A-Za-z(]|\d)(.*)", re.DOTALL)
"""Pattern of an expression that starts with a factor. Its groups are the factor, operator and rest."""

_SUM = re.compile(r"(?<![eE*/^(])[-+](?![^(]*\))")
"""Pattern of a plus or minus sign outside brackets, which shows that an expression is a sum."""


def steps_of_number(start: Any, is_whole: bool, up: bool) -> list[Any]:
    """Return the next numbers above or below `start`, the nearest first; none if it is no number.

    For a whole number, powers of two are among the next numbers. If `start` is an expression such as 1/(2d),
    its leading factor changes, and its variables remain.
    """
    if isinstance(start, str):
        return (
            [_scaled_expression(start, factor) for factor in _following_factors(start, up)]
            if start.strip()
            else []
        )
    if isinstance(start, bool) or not isinstance(start, int | float) or not math.isfinite(start):
        return []
    return list(islice(_following_numbers(float(start), is_whole, up), MOST_TRIED))


def _following_numbers(current: float, is_whole: bool, up: bool) -> Iterator[Any]:
    while True:
        current = _next_number(current, is_whole, up)
        yield int(current) if is_whole else current


def _next_number(current: float, is_whole: bool, up: bool) -> float:
    if current == 0:
        return (1.0 if up else -1.0) * (1.0 if is_whole else SMALLEST)
    if current < 0:
        return -_next_number(-current, is_whole, not up) or 0.0
    if is_whole and current <= 1:
        return current + (1.0 if up else -1.0)
    ladder = _number_ladder(current, is_whole)
    near = 1e-9 * current
    return (
        ladder[bisect_right(ladder, current + near)]
        if up
        else ladder[bisect_left(ladder, current - near) - 1]
    )


def _number_ladder(start: float, is_whole: bool) -> list[float]:
    """Return positive numbers around `start` in increasing order. A key press steps to the next one."""
    decade = math.floor(math.log10(start))
    numbers = {
        float(f"{step * 10.0**power:.4g}") for power in range(decade - 1, decade + 2) for step in PREFERRED
    }
    if is_whole:
        octave = math.floor(math.log2(start))
        numbers = {float(math.ceil(number - 0.5)) for number in numbers if number >= 1}
        numbers |= {2.0**power for power in range(max(octave - 1, 0), octave + 3)}
    return sorted(numbers)


def _following_factors(text: str, up: bool) -> list[float]:
    product = None if _SUM.search(text) else _FACTOR.fullmatch(text)
    return list(islice(_following_numbers(float(product[1]) if product else 1.0, False, up), MOST_TRIED))


def _scaled_expression(text: str, factor: float) -> str:
    """Replace the leading factor of an expression by `factor`, such as 2/d by 4/d for `factor` = 4."""
    written = f"{factor:g}"
    if _SUM.search(text):
        return f"{written}*({text.strip()})"
    product = _FACTOR.fullmatch(text)
    if product is None:
        return text.strip() if factor == 1 else f"{written}*{text.strip()}"
    joined, rest = product[2], product[3]
    return rest if factor == 1 and joined != "/" else f"{written}{joined}{rest}"
