"""Expressions in preset documents: numbers that are written as formulas, and formulas in texts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from engine.core.expressions import BadExpression, Number, exact, fill, has_braces, plain
from engine.core.parts import BadInput
from engine.core.texts import listed, quoted
from engine.spec.experiment import Experiment

NAMES = ("d", "n", "m")
"""Names of the numbers of features, instances and targets.

Expressions outside the matrix and the target may use these names.
"""

EXACT = 2**53
"""Least number above which floats do not represent every integer."""

Change = Callable[[tuple[Any, ...], str, str], Any]
"""Function that returns the replacement of a text in a document.

Its arguments are the types that are allowed at the text's place, the text, and the path of the text.
"""

TOLERANCE = 1e-9
"""Largest relative distance between an expression's value and an integer that counts as a rounding error."""


def resolved(kind: Any, raw: Any, place: str, names: Mapping[str, float]) -> Any:
    """Replace all expressions in a raw value of a document by their numbers, and return the result.

    Parts that are given by their kind alone become tables. Values that do not fit their type stay unchanged.

    Args:
        kind: the type that the value must have.
        place: the path of the value in the document, for messages.
        names: names that expressions may use.

    Raises: BadInput for an expression without a value, or with a value that does not fit.
    """
    return with_texts(kind, raw, place, lambda kinds, text, where: _value_of_text(kinds, text, where, names))


def with_texts(kind: Any, raw: Any, place: str, change: Change) -> Any:
    """Return a copy of a raw value (TOML data), with every text replaced by what `change` returns."""
    if isinstance(raw, str):
        return change(alternatives(kind), raw, place)
    if isinstance(raw, (dict, Mapping)):
        type_of = types_in(alternatives(kind), raw)
        below = f"{place}." if place else ""
        return {key: with_texts(type_of(key), member, f"{below}{key}", change) for key, member in raw.items()}
    if isinstance(raw, list | tuple):
        items = items_of(alternatives(kind))
        return [with_texts(items, item, f"{place}[{number}]", change) for number, item in enumerate(raw)]
    return raw


def without_defaults(kind: Any, raw: Any) -> Any:
    """Remove all fields that equal their defaults from the tables of a raw value (TOML data).

    A later version of a Struct may have more fields with defaults. The result is then still the same.
    """
    if isinstance(raw, list | tuple):
        return [without_defaults(items_of(alternatives(kind)), member) for member in raw]
    if not isinstance(raw, Mapping):
        return raw
    type_of, struct = types_in(alternatives(kind), raw), struct_in(alternatives(kind), raw)
    defaults = {} if struct is None else _field_defaults(struct)
    return {
        key: without_defaults(type_of(key), member)
        for key, member in raw.items()
        if key not in defaults or member != defaults[key]
    }


@cache
def _field_defaults(struct: type[msgspec.Struct]) -> dict[str, Any]:
    defaults = {
        field.encode_name: field.default if field.default_factory is NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(struct)
    }
    optional = {key: default for key, default in defaults.items() if default is not NODEFAULT}
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(optional))
    return built


def with_tables(kind: Any, raw: Any) -> Any:
    """Return a copy of a raw value (TOML data) that replaces each part written as one word by a table.

    The word is the part's kind. For example, `update = "gd"` becomes `update = {kind = "gd"}`.
    """
    return with_texts(kind, raw, "", lambda kinds, text, where: {"kind": text} if _is_part(kinds) else text)


def _is_part(kinds: tuple[Any, ...]) -> bool:
    return any(is_struct(kind) and kind.__struct_config__.tag_field == "kind" for kind in kinds)


def is_expression(kinds: tuple[Any, ...], text: str) -> bool:
    """Return whether a text is an expression for a number, and not a word that the field allows."""
    return str not in kinds and text not in _literal_words(kinds) and (int in kinds or float in kinds)


@cache
def types_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of a Struct's fields.

    The function msgspec.inspect would also describe every nested type.
    """
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


@cache
def alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union type, or the type itself, without constraints such as limits."""
    if get_origin(kind) is Annotated:
        return alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(alternative for member in get_args(kind) for alternative in alternatives(member))
    return (kind,)


@cache
def _structs_by_tag(kinds: tuple[Any, ...]) -> Mapping[Any, type[msgspec.Struct]]:
    return {kind.__struct_config__.tag: kind for kind in kinds if is_struct(kind)}


@cache
def items_of(kinds: tuple[Any, ...]) -> Any:
    """Return the item type of the first list among types, or None if no type is a list."""
    return next((get_args(kind)[0] for kind in kinds if get_origin(kind) is tuple), None)


@cache
def entries_of(kinds: tuple[Any, ...]) -> Any:
    """Return the value type of the first dictionary among types, or None if no type is a dictionary."""
    return next((get_args(kind)[1] for kind in kinds if get_origin(kind) is dict), None)


def is_struct(kind: Any) -> bool:
    """Return whether a type describes a table with known keys."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def struct_in(kinds: tuple[Any, ...], table: Mapping[str, Any]) -> type[msgspec.Struct] | None:
    """Return the Struct that a table in a document describes. `kinds` are the types that are allowed there.

    If only one of the types is a Struct, return this Struct. Otherwise, return the part with the `kind` of
    the table. Return None if there is no such part.
    """
    structs, kind = _structs_by_tag(kinds), table.get("kind")
    if len(structs) == 1:
        return next(iter(structs.values()))
    return structs.get(kind) if isinstance(kind, str) else None


def types_in(kinds: tuple[Any, ...], table: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return a function from the keys of a table in a document to the types of their values.

    `kinds` are the types that are allowed for the table.
    """
    if (struct := struct_in(kinds, table)) is not None:
        return types_of(struct).get
    entries = entries_of(kinds)
    return lambda key: entries


def _literal_words(kinds: tuple[Any, ...]) -> list[Any]:
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def _value_of_text(kinds: tuple[Any, ...], text: str, place: str, names: Mapping[str, float]) -> Any:
    if _is_part(kinds):
        return {"kind": text}
    if not is_expression(kinds, text):
        return text
    is_whole = float not in kinds
    try:
        # Exact, as rounding could change a count: 0.07·100 is 7.000000000000001 in binary, and its ceiling 8.
        number = exact(text, names)
        return _whole_number(number) if is_whole else float(number)
    except BadExpression as error:
        expected = f" or an expression of {', '.join(names)}" if names else ""
        right = ", or ".join(
            [("a whole number" if is_whole else "a number") + expected, *map(str, _literal_words(kinds))]
        )
        if not text.strip():
            raise BadInput(place, f"this is empty; enter {right}") from error
        raise BadInput(place, f"{_fault_in_words(text, str(error), names)}; it must be {right}") from error


def _whole_number(number: Number) -> int:
    size = abs(float(number))
    if size >= EXACT:
        raise BadExpression(f"{float(number):g} is too large")
    nearest = round(number)
    if abs(Fraction(number) - nearest) > TOLERANCE * max(1.0, size):
        raise BadExpression(f"{float(number):.10g} is not a whole number")
    return nearest


def _fault_in_words(text: str, fault: str, names: Mapping[str, float]) -> str:
    for name in NAMES:
        if name not in names and fault == f"{name!r} is unknown":
            fault = f"{name!r} is not known until matrix and target are set"
    if fault.startswith(repr(text)):
        return fault
    return f"{quoted(text)} does not fit: {fault}"


Raw = dict[str, Any]
Path = tuple[str | int, ...]
"""Path of a text in a document: the keys and indices that lead to the text."""

TextChange = Callable[[str, Path], str]

TEXTS: Mapping[str, tuple[str, ...]] = {
    "": ("title", "story", "reason"),
    "pictures": ("title",),
    "claims": ("text",),
}
"""Keys that have texts in a document, in each of its pictures, and in each of its claims."""

NAMED = ("marks", "contours")
"""Lists in a picture whose items have a name that may contain expressions."""

PARTS = (("run",), ("problem",), ("problem", "matrix"), ("problem", "target"), ("protocol",))
"""Paths of the tables whose numbers may be used by name in texts; later tables take precedence."""


def with_texts_changed(document: Mapping[str, Any], change: TextChange) -> Raw:
    """Return a copy of a document in which `change` replaces every text that may contain expressions.

    Malformed parts stay unchanged.
    """
    changed = _changed_texts(document, TEXTS[""], (), change)
    for part in ("pictures", "claims"):
        if isinstance(changed.get(part), list | tuple):
            changed[part] = [
                _changed_part(table, part, (part, number), change)
                for number, table in enumerate(changed[part])
            ]
    return changed


def _changed_part(table: Any, part: str, path: Path, change: TextChange) -> Any:
    if not isinstance(table, Mapping):
        return table
    changed = _changed_texts(table, TEXTS[part], path, change)
    for key in NAMED if part == "pictures" else ():
        if isinstance(changed.get(key), list | tuple):
            changed[key] = [
                _changed_texts(table, ("name",), (*path, key, number), change)
                if isinstance(table, Mapping)
                else table
                for number, table in enumerate(changed[key])
            ]
    return changed


def _changed_texts(table: Mapping[str, Any], keys: Sequence[str], path: Path, change: TextChange) -> Raw:
    texts = {key: table[key] for key in keys if isinstance(table.get(key), str)}
    return {**table, **{key: change(text, (*path, key)) for key, text in texts.items()}}


def place_of(path: Path) -> str:
    """Return a path in a document in the form that messages use, such as `pictures[0].title`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def texts_of(document: Mapping[str, Any]) -> dict[Path, str]:
    """Return every text of a document in which expressions are allowed, by its path."""
    texts: dict[Path, str] = {}

    def note(text: str, path: Path) -> str:
        texts[path] = text
        return text

    with_texts_changed(document, note)
    return texts


def filled(document: Mapping[str, Any], numbers: Mapping[str, Any], names: Mapping[str, float]) -> Raw:
    """Evaluate the expressions in a document's texts, and return the document with the finished texts.

    Texts may use d, n, m and sweep axes. Texts may also name number fields of the protocol, the target, the
    matrix, the problem and the run. The text of a claim or mark may name number fields of this claim or mark.
    The text of a picture may name numbers in the picture's `at`.

    Args:
        numbers: the document with all other expressions replaced by numbers.
        names: the values of the sweep axes, and of d, n and m.

    Raises: BadInput for an expression without a value.
    """
    if not any(map(has_braces, texts_of(document).values())):
        return dict(document)
    of_parts = {name: number for path in PARTS for name, number in _numbers_in(_part_at(numbers, path))}
    # `names` comes first for the order in messages, and again last so that it takes precedence over fields.
    bound = {**names, **of_parts, **names}

    def change(text: str, path: Path) -> str:
        if not has_braces(text):
            return text
        table = _part_at(numbers, path[:-1])
        beside = dict([*_numbers_in(table), *_numbers_in(table.get("at"))])
        try:
            return fill(text, {**bound, **beside})
        except BadExpression as error:
            right = f"braces must hold an expression of {listed({**bound, **beside})}"
            raise BadInput(place_of(path), f"{error}; {right}") from error

    return with_texts_changed(document, change)


def _part_at(document: Mapping[str, Any], path: Path) -> Any:
    try:
        return reduce(operator.getitem, path, document)  # type: ignore[arg-type]
    except (KeyError, IndexError, TypeError):
        return {}


def _numbers_in(table: Any) -> Iterator[tuple[str, float]]:
    for key, number in table.items() if isinstance(table, Mapping) else ():
        if isinstance(number, int | float) and not isinstance(number, bool):
            yield str(key), number


def as_document(described: Experiment | Raw) -> Raw:
    """Return an experiment as a document. If `described` is a document, return a copy.

    In texts of documents, braces enclose expressions. The texts of an experiment contain no expressions any
    more. So their braces are doubled, which makes them plain text.
    """
    document: Raw = dict(msgspec.to_builtins(described))
    if isinstance(described, Experiment):
        return with_texts_changed(document, lambda text, _: plain(text))
    return document
