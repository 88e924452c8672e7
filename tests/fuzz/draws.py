"""Random experiments by hypothesis, made from the types, constraints and defaults of the parts' own fields.

A value is drawn anew, or varies a given value. Either way it shrinks to the default: optional fields are left
out, and numbers become small. A new field of a part is drawn without an edit here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from engine.core import catalogue
from engine.learners.learner import Learner
from engine.problems.problem import Problem
from engine.spec.experiment import Experiment
from engine.theory import Line
from tests.fuzz.presets import (
    LARGEST,
    SMALL,
    Raw,
    bases,
    bases_of,
    bound,
    by_rule,
    default_of,
    fields,
    is_large,
    learners,
    lines,
    measure_of,
    raw_of,
)

T = TypeVar("T")

FREELY, HARDLY = 3, 30
"""One of so many fields changes: in an experiment that is drawn anew, and in one that varies a base."""

NUMBERS = 6
"""One of so many numbers changes in an experiment that varies a base."""

OTHER_PART = 8
"""One of so many parts changes its kind in an experiment that varies a base."""

SELDOM = 100
"""The measure of a line is left out once in so many times, so that shrinking removes a needless one."""

UNVARIED = ("name", "role", "where", "file", "path")
"""Fields of a learner or a part that change no number, or that name a file."""

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20, 24, 32, 48, 64)
FACTORS = (1.0, 0.0, 0.5, 2.0, 0.25, 4.0, 0.1, 10.0, -1.0)
WAYS = ("line", "line", "line", "case", "anew")
"""Where an experiment comes from: a line that binds a learner, any base, or the types alone."""

SLOW = ("digits", "net-least-squares")
"""Parts that are slow at every setting of their fields."""


@st.composite
def experiments(draw: Any, about: Sequence[Line] = ()) -> Raw:
    """Raw table of an experiment with one learner; if `about` has lines, one that these lines bind."""
    drawing = _Drawing(draw)
    way = "line" if about else draw(st.sampled_from(WAYS))
    measures: list[Raw] = []
    if way == "anew":
        drawing.rarely = FREELY
        problem = drawing.table(Problem, {})
        protocol = drawing.of(_type_of(Experiment, "protocol"), None)
        learner = drawing.learner({})
    else:
        if way == "line":
            line = draw(st.sampled_from(about or lines()))
            number = drawing.below(len(bases_of(line)))
            base, admitted = bases_of(line)[number], bound(line, number)
            measures = [measure_of(line)]
        else:
            base, admitted = drawing.one_of(bases()), ()
        learner = drawing.learner(raw_of(drawing.one_of(drawing.one_of(by_rule(admitted or learners())))))
        problem = drawing.table(Problem, base.raw["problem"])
        protocol = drawing.of(_type_of(Experiment, "protocol"), base.raw["protocol"])
    run: Raw = {"seed": 0, "dtype": "float64", "device": "cpu"}
    if drawing.happens(HARDLY):
        run["streams"] = "single"
    if measures and drawing.stays(SELDOM):
        run["measures"] = measures
    return {"problem": problem, "protocol": protocol, "run": run, "learners": [{**learner, "name": "it"}]}


def _type_of(struct: type[msgspec.Struct], name: str) -> Any:
    return next(field.type for field in fields(struct) if field.name == name)  # type: ignore[arg-type]


class _Drawing:
    """Values of the fields of parts."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self.rarely = HARDLY

    def happens(self, once_in: int) -> bool:
        """True once in `once_in` times; shrinks to False."""
        return bool(self._draw(st.integers(0, once_in - 1)) == once_in - 1)

    def stays(self, once_in: int) -> bool:
        """False once in `once_in` times; shrinks to False."""
        return bool(self._draw(st.integers(0, once_in - 1)) > 0)

    def below(self, count: int) -> int:
        return int(self._draw(st.integers(0, count - 1)))

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def learner(self, base: Raw) -> Raw:
        """Raw table of a learner that varies `base`, or of a new one if `base` is empty."""
        if not base:
            roles = ("solver",) if self.happens(4) else ("architecture", "update")
            base = dict.fromkeys(roles)
        role_tables = {role: base.pop(role) for role in ("architecture", "update", "solver") if role in base}
        parts = {role: self.of(_type_of(Learner, role), table) for role, table in role_tables.items()}
        parts = {role: part for role, part in parts.items() if part is not None}
        layers = self._layers(parts.get("architecture"))
        return parts | self.table(Learner, base, skipped=("architecture", "update", "solver"), layers=layers)

    def _layers(self, architecture: Raw | None) -> tuple[str, ...]:
        try:
            return tuple(catalogue.make("architectures", **architecture or {}).layers)
        except (TypeError, msgspec.ValidationError):
            return ()

    def table(
        self,
        struct: type[msgspec.Struct],
        base: Raw,
        skipped: Sequence[str] = (),
        layers: Sequence[str] = (),
    ) -> Raw:
        """Raw fields of a struct: those of `base`, some changed or left out, and a few new ones."""
        table: Raw = {}
        for field in fields(struct):  # type: ignore[arg-type]
            name = field.encode_name
            if name in skipped or (name in UNVARIED and not field.required):
                continue
            if name == "layer_rates":
                value = self._layer_rates(base.get(name), layers)
            elif name in base:
                stays = field.required or is_large(default_of(field)) or self.stays(self.rarely)
                value = self.of(field.type, base[name], default_of(field)) if stays else None
            elif field.required or is_large(default_of(field)) or self.happens(self.rarely):
                value = self.of(field.type, None, default_of(field))
            else:
                value = None
            if value is None and is_large(default_of(field)):
                value = SMALL
            if value is not None:
                table[name] = value
        return table

    def _layer_rates(self, base: Raw | None, layers: Sequence[str]) -> Raw | None:
        if base is not None:
            return base if self.stays(self.rarely) else None
        if not layers or not self.happens(self.rarely):
            return None
        return {self.one_of(layers): self.one_of((0.0, 0.5, 1.0, 2.0))}

    def of(self, kind: Any, base: Any, default: Any = None) -> Any:
        """Value of a type, drawn anew or near `base`; None for a field that is left out."""
        match kind:
            case inspect.Metadata():
                return self.of(kind.type, base, default)
            case inspect.UnionType():
                return self._of_union(kind, base, default)
            case inspect.StructType():
                tag = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
                return {**tag, **self.table(kind.cls, base if isinstance(base, dict) else {})}
            case inspect.LiteralType():
                if base in kind.values and self.stays(self.rarely):
                    return base
                return self.one_of(kind.values)
            case inspect.BoolType():
                return base if isinstance(base, bool) and self.stays(self.rarely) else bool(self.below(2))
            case inspect.IntType():
                return self._whole(kind, base)
            case inspect.FloatType():
                return self._number(kind, base, default)
            case inspect.StrType():
                return base
            case inspect.VarTupleType():
                return self._several(kind, base)
            case inspect.TupleType():
                return base if base is not None else [self.of(member, None) for member in kind.item_types]
            case inspect.DictType() | inspect.NoneType():
                return base
        raise TypeError(f"no value is known for {kind}")

    def _of_union(self, kind: inspect.UnionType, base: Any, default: Any) -> Any:
        parts = {
            part.tag: part
            for part in kind.types
            if isinstance(part, inspect.StructType) and part.tag not in SLOW
        }
        if isinstance(base, dict) and (tag := base.get("kind")) in parts:
            if self.stays(OTHER_PART):
                return self.of(parts[tag], base)
            rarely, self.rarely = self.rarely, FREELY
            other = self.of(self.one_of([*parts.values()]), base)
            self.rarely = rarely
            return other
        plain = [
            type_ for type_ in kind.types if not isinstance(type_, inspect.NoneType | inspect.StructType)
        ]
        if parts:
            return self.of(self.one_of([part for tag, part in parts.items() if not _reads_file(part)]), None)
        if base is not None:
            fitting = next((type_ for type_ in plain if _fits(type_, base)), None)
            return base if fitting is None else self.of(fitting, base, default)
        return self.of(self.one_of(plain), None, default)

    def _whole(self, kind: inspect.IntType, base: Any) -> int:
        low = kind.ge if kind.ge is not None else 0 if kind.gt is None else kind.gt + 1
        high = min(kind.le if kind.le is not None else LARGEST, LARGEST)
        varied = self.one_of([low, *(size for size in SIZES if low < size <= high)])
        return base if isinstance(base, int) and self.stays(NUMBERS) else varied

    def _number(self, kind: inspect.FloatType, base: Any, default: Any) -> float:
        unit = base if isinstance(base, float | int) and base else default
        unit = unit if isinstance(unit, float | int) and unit else 1.0
        low = kind.ge if kind.ge is not None else kind.gt if kind.gt is not None else -math.inf
        high = kind.le if kind.le is not None else kind.lt if kind.lt is not None else math.inf
        choices = [unit * factor for factor in FACTORS]
        choices += [1.0, 0.0, 0.5, 2.0]
        inside = [choice for choice in choices if low <= choice <= high and choice not in (kind.gt, kind.lt)]
        varied = self.one_of([*dict.fromkeys(inside)] or [low])
        return base if isinstance(base, float | int) and self.stays(NUMBERS) else varied

    def _several(self, kind: inspect.VarTupleType, base: Any) -> Any:
        if base is not None and self.stays(NUMBERS):
            return base
        least = kind.min_length or 0
        longest = min(kind.max_length or 4, max(4, least))
        return [self.of(kind.item_type, None) for _ in range(least + self.below(longest - least + 1))]


def _fits(kind: Any, base: Any) -> bool:
    """Whether a raw value fits a plain type."""
    match kind:
        case inspect.Metadata():
            return _fits(kind.type, base)
        case inspect.LiteralType():
            return base in kind.values
        case inspect.VarTupleType() | inspect.TupleType():
            return isinstance(base, list)
        case inspect.DictType():
            return isinstance(base, dict)
        case inspect.BoolType():
            return isinstance(base, bool)
        case inspect.IntType() | inspect.FloatType():
            return isinstance(base, int | float) and not isinstance(base, bool)
        case inspect.StrType():
            return isinstance(base, str)
    return False


def _reads_file(kind: inspect.StructType) -> bool:
    """Whether a part reads a file that the experiment must name."""
    required = {field.name for field in kind.fields if field.required}
    return bool(required & {*getattr(kind.cls, "file_fields", ())})


def key_of(raw: Raw) -> str:
    """Text of an experiment; equal experiments have equal texts."""
    return json.dumps(raw, sort_keys=True)
