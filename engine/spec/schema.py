"""The JSON Schema of preset files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.core.expressions import LONGEST
from engine.core.parts import restore
from engine.spec.experiment import Experiment

Schema = dict[str, Any]

EXPRESSION = {
    "title": "expression",
    "description": "of d, n, m: entries of an instance, instances, targets; as in 1/(2d), d/2, sqrt(n)",
    "type": "string",
    "pattern": r"^[\w\s.+*/^()·×−-]+$",
    "maxLength": LONGEST,
}
WORDS = ("title", "description", "default")
"""What is said of a field, whatever may stand in it."""


LEFT_OUT = (("Experiment", "protocol"), ("Problem", "target"))
"""What a preset of which nothing is trained may leave out."""


def preset_schema() -> Schema:
    """What msgspec says of an experiment, with expressions for numbers, and kinds alone for parts."""
    for described in _structs(msgspec.Struct):
        restore(described)
    schema: Schema = msgspec.json.schema(Experiment)
    widened: Schema = _widened(schema, schema["$defs"])
    for struct, key in LEFT_OUT:
        widened["$defs"][struct]["required"].remove(key)
    widened["$defs"]["Expression"] = EXPRESSION
    return widened


def _structs(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """All classes that are derived from one."""
    for struct in base.__subclasses__():
        yield struct
        yield from _structs(struct)


def _widened(schema: Any, parts: Schema) -> Any:
    """A schema in which text may stand for every number, and for every part that needs no fields."""
    if isinstance(schema, list):
        return [_widened(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: value if key == "default" else _widened(value, parts) for key, value in schema.items()}
    if isinstance(description := found.get("description"), str):
        found["description"] = inspect.cleandoc(description)
    if schema.get("type") in ("integer", "number"):
        number = {key: value for key, value in found.items() if key not in WORDS}
        words = {key: value for key, value in found.items() if key in WORDS}
        return words | {"anyOf": [number, {"$ref": "#/$defs/Expression"}]}
    if "discriminator" in schema:
        kinds = schema["discriminator"]["mapping"]
        alone = [kind for kind, at in kinds.items() if parts[at.rpartition("/")[2]]["required"] == ["kind"]]
        found["anyOf"] = [*found["anyOf"], {"enum": alone}]
    return found
