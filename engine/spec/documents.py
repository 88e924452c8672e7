"""From a document to its sweep, its first experiment, and its full form."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import msgspec

from engine.core.expressions import CONSTANTS, FUNCTIONS, BadExpression, holds, names_in_condition
from engine.core.parts import BadInput
from engine.learners.learner import Learner
from engine.protocols import CLOCKS
from engine.spec import reading
from engine.spec.axis import MOST_POINTS, Axis, Value
from engine.spec.check_claims import check_claims
from engine.spec.check_pictures import check_pictures
from engine.spec.check_points import check_points
from engine.spec.experiment import Experiment
from engine.spec.numbers import NAMES, with_tables
from engine.spec.sweep import Point, Sweep
from engine.spec.upgrade import upgraded
from engine.spec.words import texts_of, with_texts_changed

TAKEN = {*NAMES, *CLOCKS, *FUNCTIONS, *CONSTANTS, "learner", "record", "replica"}
"""Names that mean something else in expressions and pictures."""


def sweep_of(raw: Mapping[str, Any]) -> Sweep:
    """The sweep of a document, every point checked.

    Raises: BadInput, with the point that it is about where there are several.
    """
    raw = reading.current(raw)
    axes = _axes_of(raw)
    values = [axis.grid for axis in axes]
    if (count := math.prod(map(len, values))) > MOST_POINTS:
        raise BadInput("axes", f"{count} points are too many; take at most {MOST_POINTS}")
    points = [point for point in _points(raw, axes, values) if point is not None]
    if not points:
        raise BadInput("learners", "no learner is anywhere on the axes; change a `where`")
    found = Sweep(axes, tuple(points), _listed(raw))
    if axes:
        check_pictures(_with_each_learner(found), found.learners)
        check_claims(found.experiment, found.learners)
        check_points(found)
    return found


def _listed(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the learners of a document; those that are at no point are not checked."""
    tables = (one for one in raw.get("learners", ()) if isinstance(one, Mapping))
    return tuple(name for one in tables if isinstance(name := one.get("name"), str))


def _with_each_learner(found: Sweep) -> list[Experiment]:
    """The experiment at the first point, and at the first ones with learners that are not there."""
    known: set[str] = set()
    there: list[Experiment] = []
    for point in found.points:
        names = {learner.name for learner in point.experiment.learners}
        if not there or not names <= known:
            there.append(point.experiment)
            known |= names
    return there


def first(raw: Mapping[str, Any]) -> Experiment:
    """The experiment at the first point that has a learner. Raises: BadInput."""
    raw = reading.current(raw)
    axes = _axes_of(raw)
    for point in _points(raw, axes, [axis.grid for axis in axes]):
        if point is not None:
            if axes:  # else they were checked with all that they speak of
                learners = [str(one["name"]) for one in raw["learners"] if "name" in one]
                check_pictures([point.experiment], learners)
                check_claims(point.experiment, learners)
            return point.experiment
    raise BadInput("learners", "no learner is anywhere on the axes; change a `where`")


def with_words(raw: Mapping[str, Any]) -> reading.Raw:
    """A document with the texts that it has at its first point that has a learner. Raises: BadInput."""
    raw = reading.current(raw)
    axes, document, names = _axes_of(raw), None, {}
    for chosen in product(*(axis.grid for axis in axes)):
        pairs = list(zip(axes, chosen, strict=True))
        names = _names_of(pairs)
        if (document := _at(raw, pairs, names)) is not None:
            break
    texts = {} if document is None else texts_of(reading.resolve(document, names))
    return with_texts_changed(raw, lambda text, path: texts.get(path, text))


def _names_of(pairs: list[tuple[Axis, Value]]) -> dict[str, float]:
    """What expressions may name at a point: axes, and the columns of those that are tables."""
    return {name: number for axis, value in pairs for name, number in axis.bound(value).items()}


def in_full(raw: Mapping[str, Any], experiment: Experiment) -> reading.Raw:
    """A document with its defaults, which are those of its first experiment, and its expressions as they are.

    Parts of learners that are not at the first point have no defaults of their own.
    """
    raw = upgraded(raw)
    full = reading.current_in_full(raw, experiment)
    if raw.get("axes"):
        there = {learner["name"]: learner for learner in full["learners"]}
        written = {learner["name"]: learner for learner in raw["learners"]}
        whole = reading.with_expressions(list(there.values()), [written[name] for name in there])
        there = dict(zip(there, whole, strict=True))
        full["learners"] = [there.get(name) or _elsewhere(learner) for name, learner in written.items()]
    return full


def _elsewhere(learner: Mapping[str, Any]) -> dict[str, Any]:
    """A learner that is not at the first point, in full as far as that does not depend on the point."""
    fields = (field for field in msgspec.structs.fields(Learner) if not field.required)
    made = {one.encode_name: (one.default, one.default_factory) for one in fields}
    plain = {name: factory() if callable(factory) else default for name, (default, factory) in made.items()}
    return {"name": learner["name"], **plain, **with_tables(Learner, learner)}


def axes_of(raw: Mapping[str, Any]) -> tuple[Axis, ...]:
    """The axes of a document. Raises: BadInput."""
    return _axes_of(reading.current(raw))


def _axes_of(raw: Mapping[str, Any]) -> tuple[Axis, ...]:
    """The axes of a document in the words of today. Raises: BadInput."""
    axes: tuple[Axis, ...] = reading.axes(raw)
    names: set[str] = set()
    for number, axis in enumerate(axes):
        for name in {axis.name, *(name for value in axis.grid for name in axis.bound(value))}:
            where = f"axes[{number}].name"
            if name in TAKEN:
                raise BadInput(where, f"{name!r} means something else in expressions; take another name")
            if name in names:
                raise BadInput(where, f"{name!r} is a name of another axis; take another")
            names.add(name)
    return axes


def _points(
    raw: Mapping[str, Any], axes: tuple[Axis, ...], values: list[tuple[Value, ...]]
) -> Iterator[Point | None]:
    """Every point, None for one without learners."""
    for place in product(*(range(len(each)) for each in values)):
        chosen = [each[number] for each, number in zip(values, place, strict=True)]
        pairs = list(zip(axes, chosen, strict=True))
        names = _names_of(pairs)
        label = ", ".join(axis.label(value) for axis, value in pairs)
        try:
            document = _at(raw, pairs, names)
            yield (
                None
                if document is None
                else Point(place, names, label, reading.parse_current(document, names))
            )
        except BadInput as error:
            where = f"{error.where} where {label}" if label else error.where
            raise BadInput(where, error.what) from error


def _at(
    raw: Mapping[str, Any], pairs: list[tuple[Axis, Value]], names: Mapping[str, float]
) -> Mapping[str, Any] | None:
    """The document at a point: what axes set is in place, learners that are not there are left out."""
    document = dict(raw)
    if any(axis.set for axis, _ in pairs):
        document = copy.deepcopy(document)
        for axis, value in pairs:
            if axis.set is not None:
                reading.put(document, axis.set, value)
        document = dict(reading.current(document))  # values of an axis may be former words
    learners = document.get("learners")
    if isinstance(learners, list):
        here = [one for number, one in enumerate(learners) if _is_there(one, number, document, names)]
        if learners and not here:
            return None
        document["learners"] = here
    return document


def _is_there(learner: Any, number: int, document: Mapping[str, Any], names: Mapping[str, float]) -> bool:
    """Whether the condition of a learner holds at a point, which may name axes, d, n and m."""
    condition = learner.get("where") if isinstance(learner, Mapping) else None
    if not isinstance(condition, str):
        return True
    try:
        known = reading.sizes(document, names) if names_in_condition(condition) & set(NAMES) else names
        return holds(condition, known)
    except BadExpression as error:
        what = f"{error}; it compares axes, d, n or m, as in d <= 128"
        raise BadInput(f"learners[{number}].where", what) from error
