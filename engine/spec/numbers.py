"""Numbers of a preset that are written as expressions. Where a number belongs, the types of the parts say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from engine.core.expressions import BadExpression, Number, exact
from engine.core.parts import BadInput
from engine.core.texts import quoted

NAMES = ("d", "n", "m")
"""Entries of an instance, instances, and targets: what expressions outside matrix and target may name."""

EXACT = 2**53
"""From here on not every whole number is a float."""

Change = Callable[[tuple[Any, ...], str, str], Any]
"""What becomes of a text, given the types that may stand there and its place."""

TOLERANCE = 1e-9
"""How far from a whole number the value of an expression may be, for rounding, in relation to it."""


def resolved(kind: Any, value: Any, place: str, names: Mapping[str, float]) -> Any:
    """A value as presets say it, with numbers for expressions and tables for parts said by their kind alone.

    Values that do not fit their type are left as they are.

    Args:
        kind: the type that belongs there.
        place: where it stands, for messages.
        names: what expressions may name.

    Raises: BadInput for an expression that has no value, or none that could stand there.
    """
    return with_texts(kind, value, place, lambda kinds, text, where: _of_text(kinds, text, where, names))


def with_texts(kind: Any, value: Any, place: str, change: Change) -> Any:
    """A value with every text in it as `change` makes it of the types that may stand there, the text, and its
    place."""
    if isinstance(value, str):
        return change(alternatives(kind), value, place)
    if isinstance(value, (dict, Mapping)):
        type_of = _types_in(alternatives(kind), value)
        below = f"{place}." if place else ""
        return {key: with_texts(type_of(key), one, f"{below}{key}", change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        items = items_of(alternatives(kind))
        return [with_texts(items, item, f"{place}[{number}]", change) for number, item in enumerate(value)]
    return value


def with_tables(kind: Any, value: Any) -> Any:
    """A value with tables for parts said by their kind alone, and expressions as they are."""
    return with_texts(kind, value, "", lambda kinds, text, where: {"kind": text} if _is_part(kinds) else text)


def _is_part(kinds: tuple[Any, ...]) -> bool:
    """Whether a part may stand in a place, so that a text there is its kind."""
    return any(is_struct(one) and one.__struct_config__.tag_field == "kind" for one in kinds)


def is_expression(kinds: tuple[Any, ...], text: str) -> bool:
    """Whether a text stands where a number belongs, and is no word that may stand there."""
    return str not in kinds and text not in _words(kinds) and (int in kinds or float in kinds)


@cache
def types_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The types of a Struct's fields. msgspec.inspect would describe all that these lead to as well."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


@cache
def alternatives(kind: Any) -> tuple[Any, ...]:
    """The types that may stand in a place, without what limits them."""
    if get_origin(kind) is Annotated:
        return alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(one for member in get_args(kind) for one in alternatives(member))
    return (kind,)


@cache
def _structs(kinds: tuple[Any, ...]) -> Mapping[Any, type[msgspec.Struct]]:
    """The parts among types, or the one table, by kind."""
    return {one.__struct_config__.tag: one for one in kinds if is_struct(one)}


@cache
def items_of(kinds: tuple[Any, ...]) -> Any:
    """The type of the items of the first list among types, None without one."""
    return next((get_args(one)[0] for one in kinds if get_origin(one) is tuple), None)


@cache
def entries_of(kinds: tuple[Any, ...]) -> Any:
    """The type of the entries of the first dictionary among types, None without one."""
    return next((get_args(one)[1] for one in kinds if get_origin(one) is dict), None)


def is_struct(kind: Any) -> bool:
    """Whether a type is that of a table with known keys."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def struct_in(kinds: tuple[Any, ...], table: Mapping[str, Any]) -> type[msgspec.Struct] | None:
    """The one table among types, or the part of the kind that a table says; None if there is none."""
    structs, kind = _structs(kinds), table.get("kind")
    if len(structs) == 1:
        return next(iter(structs.values()))
    return structs.get(kind) if isinstance(kind, str) else None


def _types_in(kinds: tuple[Any, ...], table: Mapping[str, Any]) -> Callable[[str], Any]:
    """The types of what stands in a table: of the fields of the part of that kind, or of a dictionary."""
    if (struct := struct_in(kinds, table)) is not None:
        return types_of(struct).get
    entries = entries_of(kinds)
    return lambda key: entries


def _words(kinds: tuple[Any, ...]) -> list[Any]:
    return [word for one in kinds if get_origin(one) is Literal for word in get_args(one)]


def _of_text(kinds: tuple[Any, ...], text: str, place: str, names: Mapping[str, float]) -> Any:
    if _is_part(kinds):
        return {"kind": text}
    if not is_expression(kinds, text):
        return text
    whole = float not in kinds
    try:
        value = exact(text, names)
        return _whole(value) if whole else float(value)
    except BadExpression as error:
        known = f" or an expression of {', '.join(names)}" if names else ""
        right = ", or ".join([("a whole number" if whole else "a number") + known, *map(str, _words(kinds))])
        if not text.strip():
            raise BadInput(place, f"this is empty; enter {right}") from error
        raise BadInput(place, f"{_cause(text, str(error), names)}; it must be {right}") from error


def _whole(value: Number) -> int:
    size = abs(float(value))
    if size >= EXACT:
        raise BadExpression(f"{float(value):g} is too large")
    nearest = round(value)
    if abs(Fraction(value) - nearest) > TOLERANCE * max(1.0, size):
        raise BadExpression(f"{float(value):.10g} is not a whole number")
    return nearest


def _cause(text: str, what: str, names: Mapping[str, float]) -> str:
    """Why an expression is refused."""
    for name in NAMES:
        if name not in names and what == f"{name!r} is unknown":
            what = f"{name!r} is known only after the matrix and the target"
    if what.startswith(repr(text)):
        return what
    return f"{quoted(text)} does not fit: {what}"
