"""Fields of a part, described for forms and lists: title, help, and allowed values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import inspect

from engine.core.parts import LARGEST, MOST, MOST_FEATURES, SELDOM

NOTHING: tuple[Any, ...] = (None, "", [], (), {})
"""Values that mean that a field is empty."""

UNTAGGED = ""
"""Key in `Field.members` for a table type that has no kinds."""

FieldKind = Literal[
    "choice",
    "flag",
    "whole",
    "number",
    "text",
    "wholes",
    "floats",
    "numbers",
    "rates",
    "words",
    "column",
    "columns",
    "items",
    "table",
    "part",
]
"""Kind of a field's value.

The less obvious kinds are these. "words" is one or several words. "column" and "columns" are names or
positions of columns. "items" is a list of numbers, words and tables. "table" is a table of names and values,
or a word instead. "part" is a table with its own fields.
"""


class Field(msgspec.Struct, frozen=True):
    """One hyperparameter, as forms and lists show it."""

    name: str
    title: str
    help: str
    kind: FieldKind
    optional: bool
    choices: tuple[str, ...]
    limits: str
    """Range of a number as text, such as `> 0` or `≥ 2, < 8`, without the limits that all numbers have."""
    required: bool
    default: Any
    seldom: bool
    members: Mapping[str, type[msgspec.Struct]]
    """Types of the tables that are allowed for a part, by kind."""

    def is_default(self, value: Any) -> bool:
        """Return whether `value` is the default. All empty values count as equal."""
        if self.kind == "part":
            return value is None and self.default is None  # a table without entries is still a part
        return value == self.default or (value in NOTHING and self.default in NOTHING)


@cache
def fields_of(struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the fields of a Struct that input forms show.

    All fields with plain values are shown. A field whose value is a part is shown only if the field has a
    title. Fields that the class defines itself come before inherited fields.
    """
    described = inspect.type_info(struct)
    assert isinstance(described, inspect.StructType), "only Structs have fields"
    inherited = set(getattr(struct.__base__, "__struct_fields__", ()))
    own_first = sorted(described.fields, key=lambda field: field.name in inherited)
    fields = (_field_of(field) for field in own_first)
    return tuple(field for field in fields if field is not None)


def _field_of(field: inspect.Field) -> Field | None:
    kind: Any = field.type
    texts: dict[str, Any] = {}
    seldom = False
    if isinstance(kind, inspect.Metadata):
        seldom = kind.extra == SELDOM
        texts, kind = kind.extra_json_schema or {}, kind.type
    optional = False
    if isinstance(kind, inspect.UnionType):
        plain = [member_type for member_type in kind.types if not isinstance(member_type, inspect.NoneType)]
        optional = len(plain) < len(kind.types)
        kind = plain[0] if len(plain) == 1 else inspect.UnionType(tuple(plain))
    named = _kind_of_field(kind)
    if named is None or (named == "part" and "title" not in texts):
        return None
    members = (
        {str(struct.tag or UNTAGGED): struct.cls for struct in _structs_among(kind)}
        if named == "part"
        else {}
    )
    return Field(
        name=field.encode_name,
        title=texts.get("title", field.name),
        help=texts.get("description", ""),
        kind=named,
        optional=optional,
        choices=tuple(map(str, kind.values)) if isinstance(kind, inspect.LiteralType) else tuple(members),
        limits=_limits_in_words(kind.item_type if named in ("wholes", "floats") else kind),
        required=field.required,
        default=_default_of(field),
        seldom=seldom,
        members=members,
    )


def _default_of(field: inspect.Field) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None if field.default is msgspec.NODEFAULT else field.default


def _structs_among(kind: Any) -> list[inspect.StructType]:
    members = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [member for member in members if isinstance(member, inspect.StructType)]


def _kind_of_field(kind: Any) -> FieldKind | None:
    match kind:
        case inspect.LiteralType():
            return "choice"
        case inspect.BoolType():
            return "flag"
        case inspect.IntType():
            return "whole"
        case inspect.FloatType():
            return "number"
        case inspect.StrType():
            return "text"
        case inspect.DictType():
            return "table"
        case inspect.StructType():
            return "part"
        case inspect.VarTupleType(item_type=member):
            return _kind_of_list(member)
        case inspect.UnionType(types=members):
            return _kind_of_union(members)
        case _:
            return None


def _kind_of_list(item_type: Any) -> FieldKind:
    match item_type:
        case inspect.IntType():
            return "wholes"
        case inspect.FloatType():
            return "floats"
        case inspect.StrType():
            return "words"
        case inspect.UnionType(types=members) if _kind_of_union(members) == "column":
            return "columns"
        case _:
            return "items"


def _kind_of_union(members: tuple[Any, ...]) -> FieldKind | None:
    kinds = tuple(map(type, members))
    if inspect.FloatType in kinds:
        return "rates" if inspect.LiteralType in kinds else "numbers"
    if {inspect.IntType, inspect.StrType} <= set(kinds):
        return "column"
    if inspect.StrType in kinds and inspect.VarTupleType in kinds:
        return "words"
    if set(kinds) == {inspect.StructType}:
        return "part"
    return "table" if inspect.StructType in kinds and inspect.LiteralType in kinds else None


def _limits_in_words(kind: Any) -> str:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    if isinstance(kind, inspect.UnionType):
        kind = next(
            (member_type for member_type in kind.types if isinstance(member_type, inspect.FloatType)), None
        )
    limits = ((sign, getattr(kind, name, None)) for name, sign in signs.items())
    return ", ".join(
        f"{sign} {limit:g}"
        for sign, limit in limits
        if limit not in (None, MOST, MOST_FEATURES, -LARGEST, LARGEST)
    )
