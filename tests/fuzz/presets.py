"""Problems and learners that drawn experiments vary: from tables of the tests, former errors and presets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec

from engine.core import catalogue
from engine.core.parts import BadInput, Verdict
from engine.learners.learner import Learner
from engine.measures import named
from engine.problems.problem import Problem
from engine.spec import presets, reading
from engine.spec.experiment import Experiment
from engine.symmetry.verdict import verdict
from engine.theory import Direction, Line, on_learner, on_problem

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "engine")]

from building import raw as written  # noqa: E402
from discovery import EVERY, default_of, fields, plain  # noqa: E402

Raw = dict[str, Any]

SIDES: dict[Direction, tuple[Direction, ...]] = {
    "lower": ("lower",),
    "upper": ("upper",),
    "exact": ("lower", "upper"),
}
"""The sides on which a run can violate a line, by the direction of the line."""

CORPUS = Path(__file__).parent / "corpus"

LARGEST = 64
"""Largest whole number in an experiment."""

SMALL = 16
"""Value that replaces a larger number of a matrix, such as d."""

CHANGES: tuple[Raw, ...] = ({}, {"rotate": True}, {"repeat": 2}, {"noise": 0.3})
"""Changes of a problem that all matrices, or all labels, admit."""


class Base(NamedTuple):
    """A problem and a protocol."""

    raw: Raw
    """`problem` and `protocol`, as a preset says them."""

    experiment: Experiment
    """The same with some learner."""


def lines() -> list[Line]:
    """The lines that a run can violate."""
    return [line for line in catalogue.defaults("theory") if line.structure().direction in SIDES]


def raw_of(part: msgspec.Struct) -> Raw:
    """Raw table of a part, without fields that have their default value."""
    tag = part.__struct_config__.tag_field
    raw: Raw = {} if tag is None else {tag: part.__struct_config__.tag}
    for field in fields(type(part)):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        if field.required or value != default_of(field):
            raw[field.encode_name] = _raw_value(value)
    return raw


def _raw_value(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return raw_of(value)
    if isinstance(value, list | tuple):
        return [_raw_value(element) for element in value]
    return (
        {key: _raw_value(field_value) for key, field_value in value.items()}
        if isinstance(value, dict)
        else value
    )


@cache
def bases() -> tuple[Base, ...]:
    """Problems with protocols from the tests' tables and from the presets, the shortest first."""
    bases_by_raw: dict[str, Base] = {}
    for experiment in (*_of_tables(), *corpus().values(), *_of_presets()):
        base: Raw = {"problem": raw_of(experiment.problem), "protocol": raw_of(experiment.protocol)}
        bases_by_raw.setdefault(repr(base), Base(base, experiment))
    return tuple(sorted(bases_by_raw.values(), key=lambda base: len(repr(base.raw))))


@cache
def learners() -> tuple[Learner, ...]:
    """Learners from the tests' tables and from the presets, all called `it`, the shortest first."""
    from test_bounds import BINDS_NOT, BOUND

    tables = [
        *EVERY.values(),
        *(learner for binding_learners in BOUND.values() for learner in binding_learners.values()),
    ]
    tables += [learner for _, learner, _ in BINDS_NOT]
    learners_by_raw: dict[str, Learner] = {}
    for words in tables:
        with suppress(msgspec.ValidationError):
            (learner,) = written(learners={"it": words})["learners"]
            read_learner = msgspec.convert(learner, Learner)
            learners_by_raw.setdefault(repr(raw_of(read_learner)), read_learner)
    for experiment in (*corpus().values(), *_of_presets()):
        for learner in experiment.learners:
            read_learner = msgspec.structs.replace(learner, name="it", role="learner", where=None)
            learners_by_raw.setdefault(repr(raw_of(read_learner)), read_learner)
    return tuple(sorted(learners_by_raw.values(), key=lambda learner: len(repr(raw_of(learner)))))


def by_rule(learners: tuple[Learner, ...]) -> tuple[tuple[Learner, ...], ...]:
    """Learners by their solver or update rule: most of them are nets that few rules train."""
    groups: dict[str, list[Learner]] = {}
    for learner in learners:
        rule = learner.solver or learner.update
        groups.setdefault("" if rule is None else rule.kind, []).append(learner)
    return tuple(tuple(group) for group in groups.values())


@cache
def bases_of(line: Line) -> tuple[Base, ...]:
    """Bases on which a line holds."""
    return tuple(base for base in bases() if on_problem(line, base.experiment).holds)


@cache
def bound(line: Line, base: int) -> tuple[Learner, ...]:
    """Learners that a line binds on the base with this number."""
    experiment = bases_of(line)[base].experiment
    with_verdicts = zip(learners(), _verdicts(experiment), strict=True)
    return tuple(learner for learner, judged in with_verdicts if _is_bound(line, learner, experiment, judged))


def _is_bound(line: Line, learner: Learner, experiment: Experiment, judged: Verdict | None) -> bool:
    """Whether a line binds a learner; False if the learner does not fit the experiment."""
    if judged is None:
        return False
    try:
        return on_learner(line, learner, experiment, judged).holds
    except MISFITS:
        return False


def _verdicts(experiment: Experiment) -> tuple[Verdict | None, ...]:
    """Verdicts on all learners, None for those that do not fit; bases with the same matrix share them."""
    d, matrix, single = experiment.d, experiment.problem.matrix, experiment.protocol.schedule().single
    key = repr((d, raw_of(matrix), single))
    if key not in _verdicts_by_matrix:
        # Nothing else of the experiment may matter to a verdict, and nothing else is there.
        protocol = SimpleNamespace(schedule=lambda: SimpleNamespace(single=single))
        setup = SimpleNamespace(d=d, problem=SimpleNamespace(matrix=matrix), protocol=protocol)
        _verdicts_by_matrix[key] = tuple(_verdict_if_it_fits(learner, setup) for learner in learners())
    return _verdicts_by_matrix[key]


def _verdict_if_it_fits(learner: Learner, setup: Any) -> Verdict | None:
    try:
        return verdict(learner, setup)
    except MISFITS:
        return None


MISFITS = (AssertionError, ValueError, IndexError, KeyError, TypeError)
"""Errors of a learner that does not fit an experiment."""

_verdicts_by_matrix: dict[str, tuple[Verdict | None, ...]] = {}


def _of_tables() -> Iterator[Experiment]:
    """Problems of the tables of cases, unchanged and with each of CHANGES."""
    from test_bounds import HOLDS, HOLDS_NOT

    for _, words, *_ in (*HOLDS, *HOLDS_NOT):
        for change in CHANGES:
            changed = {"d": 8, **words}
            if "noise" in change:
                changed |= change
            elif change:
                matrix = changed.get("matrix", "hadamard")
                changed["matrix"] = {**({"kind": matrix} if isinstance(matrix, str) else matrix), **change}
            with suppress(BadInput):
                yield reading.parse(written(**changed))


@cache
def corpus() -> dict[str, Experiment]:
    """Minimal presets that once showed an error, by name, because such errors are likely to come back."""
    return {path.stem: presets.load(str(path)) for path in sorted(CORPUS.glob("*.toml"))}


@cache
def _of_presets() -> tuple[Experiment, ...]:
    """Shipped presets at their first points, as small as their parts admit."""
    experiments = []
    for preset_name in presets.names():
        experiment = presets.load(preset_name)
        for matrix in (SMALL, LARGEST):
            small = {
                "problem": _smaller(Problem, raw_of(experiment.problem), matrix),
                "protocol": _smaller(type(experiment.protocol), raw_of(experiment.protocol), LARGEST),
                "learners": [_smaller(Learner, raw_of(learner), SMALL) for learner in experiment.learners],
                "run": {"dtype": "float64", "device": "cpu"},
            }
            if (experiment_that_fits := _with_those_that_fit(small)) is not None:
                experiments.append(experiment_that_fits)
                break
    return tuple(experiments)


def _with_those_that_fit(small: Raw) -> Experiment | None:
    """Experiment with the learners that fit it, or None if none fits."""
    fitting = []
    for learner in small["learners"]:
        with suppress(BadInput):
            reading.parse({**small, "learners": [learner]})
            fitting.append(learner)
    return reading.parse({**small, "learners": fitting}) if fitting else None


def _smaller(kind: Any, value: Any, size: int) -> Any:
    """Raw value with `size` in place of whole numbers above LARGEST, defaults included."""
    if isinstance(value, dict):
        return _smaller_table(kind, value, size)
    if isinstance(value, list):
        return [_smaller(None, element, size) for element in value[:SMALL]]
    is_large = isinstance(value, int) and not isinstance(value, bool) and value > LARGEST
    return size if is_large else value


def _smaller_table(kind: Any, table: Raw, size: int) -> Raw:
    smaller = {key: _smaller(None, field_value, size) for key, field_value in table.items()}
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return smaller
    for field in fields(kind):  # type: ignore[arg-type]
        if field.encode_name in table:
            smaller[field.encode_name] = _smaller(_member(field, table), table[field.encode_name], size)
        elif is_large(default_of(field)):
            smaller[field.encode_name] = size
    return smaller


def is_large(default: Any) -> bool:
    """Whether a default is a whole number above LARGEST."""
    return isinstance(default, int) and not isinstance(default, bool) and default > LARGEST


def _member(field: msgspec.inspect.Field, table: Raw) -> Any:
    """Class of the part in a field of a raw table, or None if the field holds no part."""
    part = table[field.encode_name]
    for kind in _types(plain(field.type)):
        if isinstance(kind, msgspec.inspect.StructType):
            tag = part.get("kind") if isinstance(part, dict) else None
            if kind.tag == tag:
                return kind.cls
    return None


def _types(kind: Any) -> Iterable[Any]:
    return kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)


def measure_of(line: Line) -> Raw:
    """Raw table of the measure that a line is about."""
    return raw_of(named()[line.measure])
