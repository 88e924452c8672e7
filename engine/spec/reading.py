"""Reads experiments from TOML text, applies overrides, and reports errors with place and remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import inspect

from engine.core import catalogue, files, journal
from engine.core.parts import BadField, BadInput
from engine.core.texts import LONGEST_QUOTE, cut, listed, nearest, quoted
from engine.problems.data_files import beside
from engine.problems.problem import Problem
from engine.spec import raw_values
from engine.spec.axis import Axis
from engine.spec.check import check
from engine.spec.document_expressions import (
    alternatives,
    filled,
    is_struct,
    items_of,
    resolved,
    struct_in,
    types_in,
    types_of,
)
from engine.spec.experiment import Experiment
from engine.spec.upgrade import new_key, new_kind, renamed, upgraded

Raw = dict[str, Any]
"""An experiment as TOML stores it: only dicts, lists, strings, numbers and booleans. A text in place of a
number is an expression.
"""

UNTRAINED, NO_SIGNAL = "at-init", "zero"
"""Default protocol if no learner has an update rule, and default target of presets without training."""

NO_NAMES: Mapping[str, float] = MappingProxyType({})

MOST_BYTES = 1 << 18
"""Largest size of a preset file in bytes: ten times the size of any preset, and readable in a second."""

RESULT, MOST_BYTES_OF_RESULT = ".json", 1 << 28
"""Suffix of result files, and their largest size."""


def read_raw(path: Path) -> Raw:
    """Return the content of a preset file, with data paths relative to the working directory.

    For a result file or a stored run, return the experiment that was run.
    """
    is_result = path.suffix == RESULT
    with files.faults(""):
        if path.suffix == journal.SUFFIX:
            return _experiment_of_run(path)
        content = files.read(path, MOST_BYTES_OF_RESULT if is_result else MOST_BYTES)
    raw = _experiment_of_result(content) if is_result else raw_values.document(content)
    for part_name, part, fields in _parts_with_files(raw):
        for field in fields:
            if isinstance(part.get(field), str):
                part[field] = beside(path.parent, part[field])
            _resolve_paths_of_axes(path.parent, raw.get("axes"), f"problem.{part_name}.{field}")
    return raw


def _experiment_of_run(path: Path) -> Raw:
    try:
        document: Raw = next(journal.frames(path)).content["document"]
    except (StopIteration, KeyError, msgspec.DecodeError) as error:
        raise BadInput("", "the file does not begin with the experiment of a run; it is damaged") from error
    return document


def _experiment_of_result(content: bytes) -> Raw:
    try:
        return msgspec.json.decode(content, type=_Result).experiment.given
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput("", f"it is not a result that --export or --out wrote as JSON: {error}") from error


class _Given(msgspec.Struct):
    given: Raw


class _Result(msgspec.Struct):
    experiment: _Given


def _parts_with_files(raw: Mapping[str, Any]) -> Iterator[tuple[str, Raw, tuple[str, ...]]]:
    """Yield the matrix and the target, which may read files: name, table, and names of file fields."""
    problem = raw.get("problem")
    for part_name, family in (("matrix", "matrices"), ("target", "targets")):
        part = problem.get(part_name) if isinstance(problem, dict) else None
        if isinstance(part, dict) and isinstance(kind := part.get("kind"), str):
            member = catalogue.members(family).get(kind)
            yield part_name, part, () if member is None else member.file_fields


def _resolve_paths_of_axes(folder: Path, axes: Any, place: str) -> None:
    """Resolve file paths in sweep axes that set the field `place`. The paths are relative to `folder`.

    Charts show the paths as written.
    """
    for axis in axes if isinstance(axes, list) else ():
        if not isinstance(axis, dict) or axis.get("set") != place or not isinstance(axis.get("values"), list):
            continue
        axis.setdefault("names", [str(value) for value in axis["values"]])
        axis["values"] = [
            beside(folder, value) if isinstance(value, str) else value for value in axis["values"]
        ]


def apply(raw: Raw, override: str) -> None:
    """Apply an override such as `problem.matrix.d=256` or `learners.GD.name="x"` to `raw`, in place.

    Raises: BadInput.
    """
    put(raw, *setting(override))


def setting(override: str) -> tuple[str, Any]:
    """Parse an override `PLACE=VALUE`. Return the path of the field, and its value.

    The value is TOML or plain text, such as an expression or a list of expressions. Raises: BadInput.
    """
    place, equals, text = override.partition("=")
    where = f"--set {cut(override, LONGEST_QUOTE)}"
    if not equals or not _steps_of_place(place.strip()):
        raise BadInput(where, "needs the form PLACE=VALUE, as in problem.matrix.d=256")
    try:
        parsed = raw_values.toml(f"value = {text}")
    except tomllib.TOMLDecodeError:
        parsed = {}
    except BadInput as error:
        raise BadInput(where, error.fault) from error
    return place.strip(), parsed["value"] if len(parsed) == 1 else _list_or_text(text.strip())


def _list_or_text(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [expression.strip() for expression in text[1:-1].split(",")]
    return text


def put(raw: Raw, place: str, value: Any) -> None:
    """Set the value of a field such as `learners[0].update.lr` in `raw`.

    A new `kind` drops the hyperparameters that only the former kind has. If `place` is a rule, a solver or an
    architecture of an unknown learner, a learner with this name is added. Raises: BadInput.
    """
    *parents, last = _steps_of_place(place)
    _add_learner(raw, [*parents, last])
    if len(parents) > raw_values.DEEPEST:
        raise BadInput(f"--set {cut(place, LONGEST_QUOTE)}", "no field is nested so deeply")
    node: Any = raw
    for number, parent in enumerate(parents):
        step = parents[number] = _with_new_key(raw, parents[:number], parent)
        prefix = ".".join(map(str, parents[: number + 1]))
        if isinstance(node, list):
            parents[number] = _index_of_table(node, step, prefix)
        elif _is_kind_of_part(node, step, _classes_at(parents[: number + 1], raw)):
            node[str(step)] = {"kind": node[str(step)]}
        node = _child_at(node, parents[number], prefix)
    last = _with_new_key(raw, parents, last)
    if isinstance(node, list):
        index = _index_of_table(node, last, place)
        node[index] = value
    elif isinstance(node, dict):
        node[str(last)] = value
        if last == "kind" and isinstance(value, str):
            classes = _classes_at(parents, raw)
            node["kind"] = new_kind(classes, value)
            _remove_unknown_fields(node, classes)
    else:
        raise BadInput(f"--set {place}", f"{'.'.join(map(str, parents))} is a single value and has no fields")


def _add_learner(raw: Raw, steps: list[str | int]) -> None:
    """Append a learner if an override sets a part of a learner with a new name.

    A learner with an update rule is linear until its architecture is set.
    """
    match steps:
        case ["learners", str(name), "update" | "solver" | "architecture" as part, *rest]:
            learners = raw.get("learners")
            if rest not in ([], ["kind"]) or not isinstance(learners, list):
                return
            if all(isinstance(learner, dict) and learner.get("name") != name for learner in learners):
                learners.append({"name": name, **({"architecture": "linear"} if part == "update" else {})})


def _with_new_key(raw: Raw, parents: list[str | int], step: str | int) -> str | int:
    table = value_at(_place_of_steps(parents), raw) if isinstance(step, str) else None
    struct = struct_in(tuple(_classes_at(parents, raw)), table) if isinstance(table, dict) else None
    return step if struct is None else new_key(struct, str(step))


def _classes_at(steps: list[str | int], raw: Any) -> list[type[msgspec.Struct]]:
    """Return the Structs that a document allows at the path `steps`.

    If a field on this path allows several Structs, the field's `kind` in `raw` selects one of them. This
    function is faster than `_type_at`, for which msgspec has to describe all types.
    """
    kinds: tuple[Any, ...] = (Experiment,)
    for step in steps:
        table = raw if isinstance(raw, dict) else {}
        kinds = alternatives(items_of(kinds) if isinstance(step, int) else types_in(kinds, table)(step))
        raw = _item_or_none(raw, step)
    return [kind for kind in kinds if is_struct(kind)]


def _is_kind_of_part(node: Any, step: str | int, classes: list[type[msgspec.Struct]]) -> bool:
    if not isinstance(node, dict) or not isinstance(node.get(str(step)), str):
        return False
    return any(struct.__struct_config__.tag is not None for struct in classes)


def _remove_unknown_fields(node: Raw, classes: list[type[msgspec.Struct]]) -> None:
    struct = struct_in(tuple(classes), node)
    if struct is not None and struct.__struct_config__.tag == node["kind"]:
        for key in node.keys() - {"kind", *types_of(struct)}:
            del node[key]


def _steps_of_place(place: str) -> list[str | int]:
    steps = re.findall(r"([^.\[\]]+)|\[(\d{1,9})\]", place)
    return [int(index) if index else name for name, index in steps]


def _place_of_steps(steps: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def _child_at(node: Any, step: str | int, place: str) -> Any:
    if isinstance(node, list):
        return node[_index_of_table(node, step, place)]
    if isinstance(node, dict):
        return node.setdefault(str(step), {})
    raise BadInput(f"--set {place}", "this field is a single value and has no fields")


def _index_of_table(tables: list[Any], step: str | int, place: str) -> int:
    if isinstance(step, int) and step < len(tables):
        return step
    names = [str(table.get("name")) for table in tables if isinstance(table, dict)]
    if isinstance(step, str) and step in names:
        return names.index(step)
    choices = (
        listed(f"[{number}] {item_name}" for number, item_name in enumerate(names)) or f"{len(tables)} items"
    )
    wanted = f"[{step}]" if isinstance(step, int) else quoted(step)
    hint = ""
    if isinstance(step, str) and place == f"learners.{step}":
        hint = f"; to add a learner, set learners.{cut(step, LONGEST_QUOTE)}.update.kind"
    raise BadInput(f"--set {cut(place, LONGEST_QUOTE)}", f"there is no {wanted}; there are {choices}{hint}")


def parse(raw: Mapping[str, Any], names: Mapping[str, float] = NO_NAMES) -> Experiment:
    """Return the experiment that `raw` describes, after checking all of it.

    Args:
        names: further names that expressions may use, with their values.

    Raises: BadInput with the path of the field, such as `learners[1].update.lr`.
    """
    return parse_current(current(raw), names)


def current(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the raw values of a document, and return the document with renamed words in their new form.

    Raises: BadInput.
    """
    raw_values.check(raw)
    return upgraded(raw)


def parse_current(raw: Mapping[str, Any], names: Mapping[str, float] = NO_NAMES) -> Experiment:
    """Do the same as `parse`, for a document that `current` has already checked."""
    experiment: Experiment = _converted(Experiment, "", resolve(raw, names), raw)
    check(experiment)
    return experiment


def axes(raw: Mapping[str, Any]) -> tuple[Axis, ...]:
    """Return the sweep axes of a document that `current` has returned.

    Expressions of sweep axes use no names. Raises: BadInput.
    """
    if "axes" not in raw:
        return ()
    kind = types_of(Experiment)["axes"]
    numbers = {**raw, "axes": resolved(kind, raw["axes"], "axes", NO_NAMES)}
    typed: tuple[Axis, ...] = _converted(kind, "axes", numbers, raw)
    return typed


def in_full(raw: Mapping[str, Any], experiment: Experiment) -> Raw:
    """Return the document of an experiment with its defaults added, as plain TOML or JSON values.

    Expressions of `raw` stay as written. Paths of data files become absolute.
    """
    return current_in_full(upgraded(raw), experiment)


def current_in_full(raw: Mapping[str, Any], experiment: Experiment) -> Raw:
    """Do the same as `in_full`, for a document that `current` has already checked."""
    resolved: Raw = msgspec.json.decode(msgspec.json.encode(experiment))
    numbers: Raw = with_expressions(resolved, raw)
    for part_name, part, fields in _parts_with_files(resolved):
        for field in fields:  # a relative path, as written, would mean another file in another folder
            numbers["problem"][part_name][field] = part[field]
    return numbers


def with_expressions(numbers: Any, raw: Any) -> Any:
    """Return the document `numbers`, with the expressions of `raw` in place of their values.

    `numbers` is the same document as `raw`, with evaluated expressions and further fields.
    """
    if isinstance(numbers, dict) and isinstance(raw, Mapping):
        return {key: with_expressions(number, raw.get(key)) for key, number in numbers.items()}
    if isinstance(numbers, list) and isinstance(raw, list | tuple) and len(numbers) == len(raw):
        return [with_expressions(*pair) for pair in zip(numbers, raw, strict=True)]
    return raw if isinstance(numbers, int | float | str) and isinstance(raw, str) else numbers


def resolve(raw: Mapping[str, Any], names: Mapping[str, float] = NO_NAMES) -> Raw:
    """Return the document `raw` with every expression replaced by its value, also inside texts.

    A part that is given by its kind alone becomes a table. The matrix is resolved first; expressions in the
    matrix may use its own d. The target is resolved next; expressions in the target may use d, n and the
    sizes that the matrix defines. All other expressions may also use m. The protocol is optional if no
    learner has an update rule. If nothing is trained, the target is optional, too, and labels are then 0.

    Raises: BadInput for an expression without a value, and for an invalid matrix or target.
    """
    _require_key("problem", raw, Experiment, "", raw)
    numbers = {"problem": raw["problem"], **raw, "protocol": _protocol_or_untrained(raw)}
    if isinstance(raw["problem"], Mapping):  # other values are refused below, before anything else is read
        numbers["problem"] = dict(raw["problem"])
        names = _names_with_sizes(numbers, raw, names)
    numbers = dict(resolved(Experiment, numbers, "", names))
    return filled(numbers, numbers, names)


def sizes(raw: Mapping[str, Any], names: Mapping[str, float] = NO_NAMES) -> Mapping[str, float]:
    """Return `names`, extended by the sizes d, n and m of the document's problem. Raises: BadInput."""
    if not isinstance(raw.get("problem"), Mapping):
        return names
    return _names_with_sizes({"problem": dict(raw["problem"])}, raw, names)


def _names_with_sizes(
    numbers: Raw, raw: Mapping[str, Any], names: Mapping[str, float]
) -> Mapping[str, float]:
    """Evaluate the matrix and the target in `numbers`, and return `names` with d, n and m."""
    matrix = _resolved_part("matrix", numbers, raw, names)
    n, d = matrix.shape()
    names = {**matrix.structure().named_sizes, **names, "d": d, "n": n}
    if _kind_of(_protocol_or_untrained(raw)) == UNTRAINED:
        numbers["problem"].setdefault("target", NO_SIGNAL)
    target = _resolved_part("target", numbers, raw, names)
    target.check(matrix)
    return {**names, "m": target.columns(matrix)}


def _protocol_or_untrained(raw: Mapping[str, Any]) -> Any:
    learners = raw.get("learners")
    of_rules = not isinstance(learners, list) or any(
        "update" in learner for learner in learners if isinstance(learner, Mapping)
    )
    if of_rules:
        _require_key("protocol", raw, Experiment, "", raw)
    return raw.get("protocol", UNTRAINED)


def _kind_of(part: Any) -> Any:
    return part.get("kind") if isinstance(part, Mapping) else part


def _resolved_part(part_name: str, numbers: Raw, raw: Mapping[str, Any], names: Mapping[str, float]) -> Any:
    place, problem = f"problem.{part_name}", numbers["problem"]
    _require_key(part_name, problem, Problem, "problem", raw)
    kind = types_of(Problem)[part_name]
    if part_name == "matrix":
        names = _names_with_d(kind, problem[part_name], names)
    problem[part_name] = resolved(kind, problem[part_name], place, names)
    return _converted(kind, place, numbers, raw)


def _names_with_d(kind: Any, matrix: Any, names: Mapping[str, float]) -> Mapping[str, float]:
    """Add d, evaluated, to `names` if the matrix sets d. Other fields of the matrix may then use d."""
    if not isinstance(matrix, Mapping) or "d" not in matrix:
        return names
    first = resolved(kind, {"kind": matrix.get("kind"), "d": matrix["d"]}, "problem.matrix", names)
    return {**names, "d": first["d"]} if isinstance(first["d"], int) else names


def _converted(kind: Any, place: str, numbers: Raw, raw: Mapping[str, Any]) -> Any:
    """Convert the value at `place` to the type `kind`. Errors quote values as written in `raw`."""
    try:
        return msgspec.convert(value_at(place, numbers), kind)
    except msgspec.ValidationError as error:
        raise _explained_error(error, place, numbers, raw) from error


def _explained_error(
    error: msgspec.ValidationError, place: str, raw: Any, written: Mapping[str, Any]
) -> BadInput:
    """Convert an error of msgspec to a BadInput that lists the allowed values.

    `raw` contains the resolved values. The message quotes `written`, the values before expressions were
    resolved.
    """
    message, _, path = str(error).partition(" - at `$")
    where = f"{place}{path.rstrip('`')}".lstrip(".")
    cause = error.__cause__
    if isinstance(cause, BadField):
        return BadInput(".".join(filter(None, (where, cause.field))), cause.fault)
    if match := re.fullmatch(r"Object contains unknown field `(.*)`", message):
        struct, key = _type_at(where, raw), match.group(1)
        if not isinstance(struct, inspect.StructType):
            return _unknown_key_error(key, where, [])
        fields = [field.encode_name for field in struct.fields]
        hint = ""
        if "options" in fields:
            class_name = value_at(where, raw).get("name", "the class")
            hint = f"; arguments of {class_name} go into options={{…}}"
        keys = [*filter(None, [struct.tag_field]), *fields]
        return _unknown_key_error(key, where, keys, new_key(struct.cls, key), hint)
    if match := re.fullmatch(r"Object missing required field `(.*)`", message):
        return _missing_key_error(".".join(filter(None, (where, match.group(1)))), raw)
    value = value_at(where, raw)
    if message.startswith(("Invalid value", "Invalid enum value")):
        hint = "; --parts FILE.py loads your own parts" if where.endswith(".kind") else ""
        return BadInput(
            where, f"{quoted(value)} is unknown; {nearest(str(value), _allowed_values(where, raw))}{hint}"
        )
    expected = message.replace("`", "").removeprefix("Expected ").split(", got")[0]
    expected = re.sub(r"\.0(?!\d)", "", expected)  # shorten a limit such as 1000000.0
    if "matching regex" in expected:
        expected = (getattr(_type_at(where, raw, annotated=True), "extra_json_schema", None) or {}).get(
            "description", expected
        )
    for plain, name in {"float": "a number", "int": "a whole number", "str": "text", "bool": "true or false",
                        "object": "a table", "array": "a list"}.items():  # fmt: skip
        expected = re.sub(rf"\b{plain}\b", name, expected).replace(" | ", " or ")
    if value == "":
        return BadInput(where, f"this is empty; enter {expected}")
    shown, text = quoted(value), value_at(where, written)
    if isinstance(text, str) and isinstance(value, int | float):
        shown = f"{text} = {value:g}"
    return BadInput(where, f"{shown} does not fit; it must be {expected}")


def _require_key(
    key: str, table: Mapping[str, Any], kind: type[msgspec.Struct], place: str, raw: Any
) -> None:
    if key not in table:
        keys = list(types_of(kind))
        stranger = next((other for other in table if other not in keys), None)
        raise (
            _missing_key_error(f"{place}.{key}".lstrip("."), raw)
            if stranger is None
            else _unknown_key_error(stranger, place, keys)
        )


def _unknown_key_error(key: str, place: str, keys: list[str], new: str = "", hint: str = "") -> BadInput:
    new_name = renamed(key, keys) if place.startswith("claims[") else None
    new_name = new if new in keys else new_name
    right = nearest(key, keys) if new_name is None else f"it is called {new_name} here"
    return BadInput(f"{place}.{key}".lstrip("."), f"unknown key; {right}{hint}")


def _missing_key_error(place: str, raw: Any) -> BadInput:
    choices = _allowed_values(place, raw)
    return BadInput(place, "missing" + (f"; the choices are {listed(choices)}" if choices else ""))


def value_at(place: str, raw: Any) -> Any:
    """Return the value at a path such as `learners[0].update.lr`, or None if the document has none there."""
    for step in _steps_of_place(place):
        raw = _item_or_none(raw, step)
    return raw


def _item_or_none(raw: Any, step: str | int) -> Any:
    try:
        return raw[step]
    except (KeyError, IndexError, TypeError):
        return None


def _allowed_values(where: str, raw: Any) -> list[str]:
    parent, _, last = where.rpartition(".")
    if last == "kind":
        where = parent
    kind = _type_at(where, raw, resolve=False)
    if members := _struct_members(kind):
        return sorted(str(member.tag) for member in members if member.tag is not None)
    if isinstance(kind, inspect.UnionType):
        literals = [member_type for member_type in kind.types if isinstance(member_type, inspect.LiteralType)]
        has_numbers = any(isinstance(member_type, inspect.FloatType) for member_type in kind.types)
        numbers = ["a number", "a list of numbers"] if has_numbers else []
        return [*numbers, *(_quoted_if_sign(word) for literal in literals for word in literal.values)]
    return [_quoted_if_sign(word) for word in kind.values] if isinstance(kind, inspect.LiteralType) else []


def _quoted_if_sign(word: Any) -> str:
    return str(word) if re.search(r"\w", str(word)) else f'"{word}"'


def _struct_members(kind: Any) -> list[inspect.StructType]:
    types = kind.types if isinstance(kind, inspect.UnionType) else [kind]
    return [member_type for member_type in types if isinstance(member_type, inspect.StructType)]


def _type_at(where: str, raw: Any, resolve: bool = True, annotated: bool = False) -> Any:
    """Return the type of the value at path `where`.

    In a union of types, the `kind` in `raw` selects the type.
    """
    kind: Any = _type_of_experiments()
    steps = _steps_of_place(where)
    for number, step in enumerate(steps):
        kind = _selected_type(kind, raw)
        raw = _item_or_none(raw, step)
        if isinstance(step, int):
            kind = getattr(kind, "item_type", None)
        else:
            fields = {field.encode_name: field.type for field in getattr(kind, "fields", ())}
            kind = fields.get(step)
        if isinstance(kind, inspect.Metadata) and not (annotated and number == len(steps) - 1):
            kind = kind.type
    return _selected_type(kind, raw) if resolve else kind


@cache  # msgspec takes long to describe the type
def _type_of_experiments() -> inspect.Type:
    return inspect.type_info(Experiment)


def _selected_type(kind: Any, raw: Any) -> Any:
    if not isinstance(kind, inspect.UnionType):
        return kind
    tag = raw.get("kind") if isinstance(raw, dict) else None
    members = _struct_members(kind)
    return next((member for member in members if member.tag == tag), members[0] if members else kind)
