"""Preset documents: the sweep and experiments that they describe, and their JSON Schema."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import msgspec
from msgspec import structs

from engine.claims import Claim
from engine.core import catalogue
from engine.core.expressions import (
    CONSTANTS,
    FUNCTIONS,
    LONGEST,
    BadExpression,
    holds,
    names_in,
    names_in_condition,
)
from engine.core.parts import BadInput, restore
from engine.core.texts import quoted
from engine.learners.learner import Learner
from engine.pictures.picture import Picture
from engine.protocols import CLOCKS
from engine.spec import reading
from engine.spec.axis import MOST_POINTS, Axis, Value
from engine.spec.check import check_claims, check_pictures
from engine.spec.document_expressions import NAMES, texts_of, with_tables, with_texts_changed
from engine.spec.experiment import Experiment, picture_of
from engine.spec.sweep import Point, Sweep, marks_of
from engine.spec.upgrade import upgraded


def check_points(sweep: Sweep) -> None:
    """Check that pictures, claims and texts differ between sweep points only where this is allowed.

    Texts and pictures must be equal at all sweep points, except for the numbers in `marks`. A claim's numbers
    must not vary along a curve. Raises: BadInput.
    """
    _check_texts(sweep)
    for number, picture in enumerate(sweep.experiment.pictures):
        for point in sweep.points:
            at_point = structs.replace(point.experiment.pictures[number], marks=picture.marks)
            if at_point != picture:
                fault = f"the picture at {point.label} differs from that at the first sweep point"
                right = "only the numbers in `marks` may depend on sweep axes"
                raise BadInput(f"pictures[{number}]", f"{fault}, but {right}")
        marks_of(sweep, picture)
        _check_varying(sweep, picture, f"pictures[{number}]")
        _check_replicas(sweep, picture)
    _check_until(sweep)
    _check_claims(sweep)


def _check_texts(sweep: Sweep) -> None:
    first = dict(_texts_by_place(sweep.experiment))
    for point in sweep.points:
        for place, text in _texts_by_place(point.experiment):
            if text != first[place]:
                fault = (
                    f"at {point.label}, the text {quoted(text)} differs from the text at other sweep points"
                )
                raise BadInput(
                    place, f"{fault}; in braces, use neither a sweep axis nor a number that depends on one"
                )


def _texts_by_place(experiment: Experiment) -> Iterator[tuple[str, str | None]]:
    yield from (
        ("title", experiment.title),
        ("story", experiment.story),
        ("reason", experiment.reason),
    )
    for number, picture in enumerate(experiment.pictures):
        place = f"pictures[{number}]"
        yield f"{place}.title", picture.title
        yield from ((f"{place}.marks[{at}].name", mark.name) for at, mark in enumerate(picture.marks))
        yield from (
            (f"{place}.contours[{at}].name", contour.name) for at, contour in enumerate(picture.contours)
        )
    yield from ((f"claims[{number}].text", claim.text) for number, claim in enumerate(experiment.claims))


def _check_until(sweep: Sweep) -> None:
    readings = [picture.reading for picture in sweep.experiment.pictures]
    for number, axis in enumerate(sweep.axes):
        axis_readings = [
            picture_reading
            for picture_reading in readings
            if picture_reading is not None and picture_reading.over == axis.name
        ]
        if axis.until is None or (
            axis_readings and all(axis_reading.is_threshold for axis_reading in axis_readings)
        ):
            continue
        reason = (
            "a picture has another `read` along this axis, which needs all values"
            if axis_readings
            else "no picture has a `read` along this axis"
        )
        right = f"read = {{over = {axis.name!r}, first_below = …}}".replace("'", '"')
        raise BadInput(
            f"axes[{number}].until", f"until requires pictures with {right}, but {reason}; leave `until` out"
        )


def _check_varying(sweep: Sweep, picture: Picture, where: str) -> None:
    named = names_in(picture.x) | (names_in(picture.y) if picture.y is not None else set())
    over = None if picture.reading is None else picture.reading.over
    for number, axis in enumerate(sweep.axes):
        if axis.name == over or not named.isdisjoint(axis.bound(axis.grid[0])):
            continue
        first: dict[tuple[str, tuple[int, ...]], int] = {}
        for point in (point for point in sweep.points if point.is_in(picture)):
            for learner in point.experiment.learners:
                key = learner.name, sweep.apart(picture, point)
                if first.setdefault(key, point.place[number]) != point.place[number]:
                    right = "name it in `x`, `curves`, `at` or `read`"
                    fault = f"a curve mixes several values of {axis.name}; {right}"
                    raise BadInput(where, fault)


def _check_replicas(sweep: Sweep, picture: Picture) -> None:
    counts: dict[tuple[int, ...], int] = {}
    for point in (point for point in sweep.points if point.is_in(picture)):
        replicas = point.experiment.run.replicas
        count = counts.setdefault(sweep.apart(picture, point), replicas)
        if replicas != count:
            counted = (
                f"there are {replicas} replicas at {point.label}, but {count} elsewhere on the same curve"
            )
            raise BadInput("run.replicas", f"{counted}; take the same number at every point")


def _check_claims(sweep: Sweep) -> None:
    for number, claim in enumerate(sweep.claims):
        picture = picture_of(sweep.experiment, claim.picture)
        along: dict[tuple[int, ...], Claim] = {}
        for point in sweep.points:
            at_point = point.experiment.claims[number]
            if along.setdefault(sweep.apart(picture, point), at_point) != at_point:
                right = "they may depend only on axes in `curves` of the picture"
                fault = f"the claim's numbers vary along a curve; {right}"
                raise BadInput(f"claims[{number}]", fault)


TAKEN = {*NAMES, *CLOCKS, *FUNCTIONS, *CONSTANTS, "learner", "record", "replica"}
"""Names that already have a meaning in expressions and pictures."""


def sweep_of(raw: Mapping[str, Any]) -> Sweep:
    """Return the sweep of a document, with the experiment at every sweep point checked.

    Raises: BadInput. If there are several sweep points, the error names the faulty one.
    """
    raw = reading.current(raw)
    axes = _checked_axes(raw)
    grids = [axis.grid for axis in axes]
    if (count := math.prod(map(len, grids))) > MOST_POINTS:
        raise BadInput("axes", f"{count} sweep points are too many; take at most {MOST_POINTS}")
    points = [point for point in _points_of_sweep(raw, axes, grids) if point is not None]
    if not points:
        raise BadInput("learners", "no learner runs at any sweep point; change a `where`")
    sweep = Sweep(axes, tuple(points), _all_learner_names(raw))
    if axes:
        check_pictures(_experiments_with_each_learner(sweep), sweep.learners)
        check_claims(sweep.experiment, sweep.learners)
        check_points(sweep)
    return sweep


def _all_learner_names(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of all learners in a document, even if a learner exists at no sweep point."""
    tables = (table for table in raw.get("learners", ()) if isinstance(table, Mapping))
    return tuple(learner_name for table in tables if isinstance(learner_name := table.get("name"), str))


def _experiments_with_each_learner(sweep: Sweep) -> list[Experiment]:
    seen: set[str] = set()
    experiments: list[Experiment] = []
    for point in sweep.points:
        names = {learner.name for learner in point.experiment.learners}
        if not experiments or not names <= seen:
            experiments.append(point.experiment)
            seen |= names
    return experiments


def first(raw: Mapping[str, Any]) -> Experiment:
    """Return the experiment at the first sweep point at which a learner exists. Raises: BadInput."""
    raw = reading.current(raw)
    axes = _checked_axes(raw)
    for point in _points_of_sweep(raw, axes, [axis.grid for axis in axes]):
        if point is not None:
            if axes:  # without axes, pictures and claims were checked when the document was read
                learners = [str(table["name"]) for table in raw["learners"] if "name" in table]
                check_pictures([point.experiment], learners)
                check_claims(point.experiment, learners)
            return point.experiment
    raise BadInput("learners", "no learner runs at any sweep point; change a `where`")


def with_words(raw: Mapping[str, Any]) -> reading.Raw:
    """Return a document with the expressions in its texts evaluated, at the first point that has a learner.

    Raises: BadInput.
    """
    raw = reading.current(raw)
    axes, document, names = _checked_axes(raw), None, {}
    for chosen in product(*(axis.grid for axis in axes)):
        pairs = list(zip(axes, chosen, strict=True))
        names = _names_bound(pairs)
        if (document := _document_at_point(raw, pairs, names)) is not None:
            break
    texts = {} if document is None else texts_of(reading.resolve(document, names))
    return with_texts_changed(raw, lambda text, path: texts.get(path, text))


def _names_bound(pairs: list[tuple[Axis, Value]]) -> dict[str, float]:
    return {
        bound_name: number
        for axis, axis_value in pairs
        for bound_name, number in axis.bound(axis_value).items()
    }


def in_full(raw: Mapping[str, Any], experiment: Experiment) -> reading.Raw:
    """Return a document with the defaults of its first experiment added, and its expressions unchanged.

    The parts of a learner that is missing at the first sweep point get no defaults.
    """
    raw = upgraded(raw)
    full = reading.current_in_full(raw, experiment)
    if raw.get("axes"):
        tables = {learner["name"]: learner for learner in full["learners"]}
        written = {learner["name"]: learner for learner in raw["learners"]}
        expressed = reading.with_expressions(
            list(tables.values()), [written[learner_name] for learner_name in tables]
        )
        tables = dict(zip(tables, expressed, strict=True))
        full["learners"] = [
            tables.get(learner_name) or _table_with_defaults(learner)
            for learner_name, learner in written.items()
        ]
    return full


def _table_with_defaults(learner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table, with defaults, of a learner that does not exist at the first sweep point.

    Only the learner's own fields get defaults. Its parts, such as the update rule, get none.
    """
    fields = (field for field in msgspec.structs.fields(Learner) if not field.required)
    defaults = {field.encode_name: (field.default, field.default_factory) for field in fields}
    plain = {
        field: factory() if callable(factory) else default for field, (default, factory) in defaults.items()
    }
    return {"name": learner["name"], **plain, **with_tables(Learner, learner)}


def axes_of(raw: Mapping[str, Any]) -> tuple[Axis, ...]:
    """Return the sweep axes of a document. Raises: BadInput."""
    return _checked_axes(reading.current(raw))


def _checked_axes(raw: Mapping[str, Any]) -> tuple[Axis, ...]:
    """Return the sweep axes of a document that `reading.current` returned. Raises: BadInput."""
    axes: tuple[Axis, ...] = reading.axes(raw)
    names: set[str] = set()
    for number, axis in enumerate(axes):
        for bound_name in {
            axis.name,
            *(bound_name for axis_value in axis.grid for bound_name in axis.bound(axis_value)),
        }:
            where = f"axes[{number}].name"
            if bound_name in TAKEN:
                raise BadInput(
                    where, f"{bound_name!r} already has a meaning in expressions; take another name"
                )
            if bound_name in names:
                raise BadInput(where, f"another axis has the name {bound_name!r}; take a different name")
            names.add(bound_name)
    return axes


def _points_of_sweep(
    raw: Mapping[str, Any], axes: tuple[Axis, ...], grids: list[tuple[Value, ...]]
) -> Iterator[Point | None]:
    """Yield every sweep point, or None in place of a point at which no learner exists."""
    for place in product(*(range(len(grid)) for grid in grids)):
        chosen = [grid[number] for grid, number in zip(grids, place, strict=True)]
        pairs = list(zip(axes, chosen, strict=True))
        names = _names_bound(pairs)
        label = ", ".join(axis.label(axis_value) for axis, axis_value in pairs)
        try:
            document = _document_at_point(raw, pairs, names)
            yield (
                None
                if document is None
                else Point(place, names, label, reading.parse_current(document, names))
            )
        except BadInput as error:
            where = f"{error.where} where {label}" if label else error.where
            raise BadInput(where, error.fault) from error


def _document_at_point(
    raw: Mapping[str, Any], pairs: list[tuple[Axis, Value]], names: Mapping[str, float]
) -> Mapping[str, Any] | None:
    """Return the document at one sweep point, with the learners of this point, or None without learners."""
    document = dict(raw)
    if any(axis.set for axis, _ in pairs):
        document = copy.deepcopy(document)
        for axis, axis_value in pairs:
            if axis.set is not None:
                reading.put(document, axis.set, axis_value)
        document = dict(reading.current(document))  # upgrade again: an axis may set a renamed word
    learners = document.get("learners")
    if isinstance(learners, list):
        present = [
            learner
            for number, learner in enumerate(learners)
            if _exists_at_point(learner, number, document, names)
        ]
        if learners and not present:
            return None
        document["learners"] = present
    return document


def _exists_at_point(
    learner: Any, number: int, document: Mapping[str, Any], names: Mapping[str, float]
) -> bool:
    condition = learner.get("where") if isinstance(learner, Mapping) else None
    if not isinstance(condition, str):
        return True
    try:
        numbers = reading.sizes(document, names) if names_in_condition(condition) & set(NAMES) else names
        return holds(condition, numbers)
    except BadExpression as error:
        fault = f"{error}; a condition compares axes, d, n or m, as in d <= 128"
        raise BadInput(f"learners[{number}].where", fault) from error


Schema = dict[str, Any]

EXPRESSION = {
    "title": "expression",
    "description": "formula in d (features), n (instances) and m (targets), such as 1/(2d), d/2, sqrt(n)",
    "type": "string",
    "pattern": r"^[\w\s.+*/^()·×−-]+$",
    "maxLength": LONGEST,
}
WORDS = ("title", "description", "default")
"""Keys of a JSON Schema that describe a field of any type."""


LEFT_OUT = (("Experiment", "protocol"), ("Problem", "target"))
"""Required fields that a preset without training may omit, by class."""


def preset_schema() -> Schema:
    """Return the JSON Schema of presets.

    It extends the schema that msgspec makes. A number may be an expression, and a part may be written as its
    kind alone.
    """
    for family in catalogue.FOLDERS:
        catalogue.members(family)  # imports every member, so that the schema includes it
    for described in _all_subclasses(msgspec.Struct):
        restore(described)
    schema: Schema = msgspec.json.schema(Experiment)
    widened: Schema = _widened_schema(schema, schema["$defs"])
    for struct, key in LEFT_OUT:
        widened["$defs"][struct]["required"].remove(key)
    widened["$defs"]["Expression"] = EXPRESSION
    return widened


def _all_subclasses(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for struct in base.__subclasses__():
        yield struct
        yield from _all_subclasses(struct)


def _widened_schema(schema: Any, parts: Schema) -> Any:
    """Return a schema that also accepts an expression for a number, and a kind alone for a part.

    A part with required fields cannot be given by its kind alone.
    """
    if isinstance(schema, list):
        return [_widened_schema(part, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    widened = {
        key: subschema if key == "default" else _widened_schema(subschema, parts)
        for key, subschema in schema.items()
    }
    if isinstance(description := widened.get("description"), str):
        widened["description"] = inspect.cleandoc(description)
    if schema.get("type") in ("integer", "number"):
        number = {key: subschema for key, subschema in widened.items() if key not in WORDS}
        words = {key: subschema for key, subschema in widened.items() if key in WORDS}
        return words | {"anyOf": [number, {"$ref": "#/$defs/Expression"}]}
    if "discriminator" in schema:
        kinds = schema["discriminator"]["mapping"]
        alone = [kind for kind, at in kinds.items() if parts[at.rpartition("/")[2]]["required"] == ["kind"]]
        widened["anyOf"] = [*widened["anyOf"], {"enum": alone}]
    return widened
