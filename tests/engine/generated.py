"""Random experiments made from the catalogue, so that a new part is included without an edit here.

Experimental parts are left out, because they would change the draws of the others.

`generate` makes the content of a preset file, which is mostly valid; `mutate` spoils it. Both depend on their
seed alone. Reading any of their documents ends in an Experiment or in BadInput.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import math
import tomllib
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import msgspec
from msgspec import inspect

from engine.core import catalogue
from engine.core.parts import BadInput
from engine.learners.learner import Learner
from engine.measures import named
from engine.problems.problem import Problem
from engine.spec import reading
from engine.spec.experiment import Experiment, RunSettings

Raw = dict[str, Any]

GIVEN = 0.4
"""Probability that a field with a default is set."""

TRIES = 8
"""Most draws of a learner or an experiment until one is admitted."""

FEW = 5
"""Most by which a small whole number exceeds its least value."""

WRITTEN = 0.03
"""Probability that a number is written as an expression."""

EXPRESSIONS = (
    "1/d",
    "1/(2d)",
    "d/2",
    "n",
    "m",
    "sqrt(d)",
    "log(n) + 1",
    "2^d",
    "1/0",
    "9^9^9",
    "d +",
)

LARGE = ("digits", "net-least-squares")
"""Parts that are large or slow at every setting of their fields."""

WORDS = ("GD", "EGU±", "a b", "x", "ŷ", "learner 3", "σ²", "[bold]", "🙂", "'", "-")


def generate(
    seed: int, *, small: bool = False, files: Sequence[str] = ("absent.npy",), part: str | None = None
) -> Raw:
    """A random experiment as a preset file would hold it.

    Args:
        small: whether sizes are small enough for a quick run; otherwise all allowed sizes occur.
        files: paths for parts that read a file.
        part: kind of a part, possibly experimental, that is used wherever it fits.
    """
    return _Generator(Random(seed), small, files, part).experiment()


def mutate(raw: Raw, seed: int) -> Raw:
    """Copy that is spoilt in one or a few places: keys, types, sizes, lists."""
    rng, spoilt = Random(seed), copy.deepcopy(raw)
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(spoilt))
        if not places:
            break
        node, key = rng.choice(places)
        _spoil(node, key, rng)
    return spoilt


class _Generator:
    """Random values for the fields of Structs."""

    def __init__(self, rng: Random, small: bool, files: Sequence[str], part: str | None) -> None:
        self._rng, self._small, self._files, self._part = rng, small, files, part

    def experiment(self) -> Raw:
        for _ in range(self._rng.randint(1, TRIES)):
            raw = self._drawn()
            if _admitted({**raw, "claims": []}):
                break
        if self._rng.random() < GIVEN:
            names = [learner["name"] for learner in raw["learners"]]
            raw["claims"] = [self._claim(names) for _ in range(self._rng.choice((1, 2, 3)))]
        return raw

    def _drawn(self) -> Raw:
        """An experiment without claims."""
        rng = self._rng
        learners = [self._learner() for _ in range(rng.choice((1, 1, 2, 3)))]
        names = rng.sample(WORDS, len(learners))
        for learner, name in zip(learners, names, strict=True):
            learner["name"] = name
        raw = {
            "problem": self._fields(Problem),
            "protocol": self._of(_fields_of(Experiment)["protocol"].type),
            "learners": learners,
            "run": self._fields(RunSettings),
        }
        for text in ("title", "story", "source"):
            if rng.random() < GIVEN:
                raw[text] = self._text()
        if rng.random() < 0.75 and self._part not in catalogue.members("measures"):
            raw["run"].pop("measures", None)  # most measures are of few problems
        if self._small and raw["run"].get("path") == "compiled":
            del raw["run"]["path"]  # a compiler takes longer than all small runs together
        return raw

    def _learner(self) -> Raw:
        """Learner without a name, drawn up to TRIES times until it is valid."""
        rng = self._rng
        roles = ("solver",) if rng.random() < 0.25 else ("architecture", "update")
        for _ in range(rng.randint(1, TRIES)):
            learner = {role: self._of(_fields_of(Learner)[role].type, optional=False) for role in roles}
            if rng.random() < 0.1:
                learner["layer_rates"] = {rng.choice(("w", "u", "W1", "W2")): rng.choice((0, 0.5, 1))}
            with contextlib.suppress(msgspec.ValidationError):
                msgspec.convert({"name": "it", **learner}, Learner)
                break
        return learner

    def _claim(self, names: list[str]) -> Raw:
        """Claim of a kind about existing learners, with some numbers drawn."""
        rng = self._rng
        if rng.random() < 0.2:
            return self._former_claim(names)
        member = catalogue.members("claims")[rng.choice(self._kinds("claims"))]
        claim: Raw = {"text": self._text(), **tomllib.loads(f"claim = {member.example}")["claim"]}
        for field in member.curve_fields:
            claim[field] = rng.choice(names)
        for field in member.line_fields:
            if field in claim and (field not in member.curve_fields or rng.random() < 0.5):
                claim[field] = rng.choice(self._kinds("theory"))
        if "at" in claim:
            claim["at"] = rng.choice((0, 0, 1, 2, 3, 4, 8))
        for field in sorted(claim.keys() & {"equals", "above", "within", "standard_errors"}):
            claim[field] = rng.choice((0, 1e-6, 0.1, 10))
        return claim

    def _kinds(self, family: str) -> list[str]:
        """Kinds of a family from which one is drawn."""
        members = catalogue.members(family)
        if self._part in members:
            return [self._part]
        return [kind for kind, member in members.items() if not member.experimental]

    def _former_claim(self, names: list[str]) -> Raw:
        """Claim in the form of the first edition."""
        rng = self._rng
        form = rng.choice(("loss", "error", "below", "follows", "same_as", "diverges"))
        value: Raw = {"follows": "ri-signed", "same_as": rng.choice(names), "diverges": True}
        claim = {"text": self._text(), "learner": rng.choice(names), form: value.get(form, 0.5)}
        if form in ("loss", "error", "below"):
            claim["k"] = rng.choice((0, 1, 2, 4))
        if form in ("loss", "error", "follows", "same_as"):
            claim["within"] = rng.choice((0, 1e-6, 0.1, 10))
        return claim

    def _fields(self, struct: Any) -> Raw:
        """Values for all required fields and for some of the others."""
        table = {}
        for field in _fields_of(struct).values():
            is_whole = isinstance(field.default, int) and not isinstance(field.default, bool)
            sized = self._small and (is_whole or field.name in ("n", "factors"))
            is_written = (
                field.required or sized or self._rng.random() < GIVEN
            )  # defaults are none of small sizes
            if is_written and (value := self._value(field, optional=not sized)) is not None:
                table[field.encode_name] = value
        return table

    def _value(self, field: inspect.Field, optional: bool) -> Any:
        if field.name == "path" and field.required:
            return self._rng.choice(self._files)
        value = self._of(field.type, optional)
        largest = FEW if self._small and field.name == "steps" else math.inf
        return min(value, largest) if isinstance(value, float) else value

    def _of(self, kind: Any, optional: bool = True) -> Any:
        """Value of a type, or None for a field that is left out."""
        rng = self._rng
        if isinstance(kind, inspect.IntType | inspect.FloatType) and rng.random() < WRITTEN:
            return rng.choice(EXPRESSIONS)
        match kind:
            case inspect.Metadata():
                return self._of(kind.type, optional)
            case inspect.UnionType():
                types = [
                    member_type
                    for member_type in kind.types
                    if optional or not isinstance(member_type, inspect.NoneType)
                ]
                if self._small:
                    types = [
                        member_type for member_type in types if getattr(member_type, "tag", None) not in LARGE
                    ]
                wanted = [
                    member_type
                    for member_type in types
                    if self._part and getattr(member_type, "tag", None) == self._part
                ]
                return self._of(
                    rng.choice(wanted or [member_type for member_type in types if _is_shipped(member_type)]),
                    optional,
                )
            case inspect.StructType():
                tag = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
                return {**tag, **self._fields(kind.cls)}
            case inspect.LiteralType():
                wanted = [self._part] if self._part in kind.values else []
                return rng.choice(
                    wanted or [choice for choice in kind.values if choice not in _experimental_names()]
                )
            case inspect.BoolType():
                return rng.random() < 0.5
            case inspect.IntType():
                return self._whole(kind)
            case inspect.FloatType():
                return self._number(kind)
            case inspect.StrType():
                return rng.choice(("auto", "cpu")) if kind.pattern else self._text()
            case inspect.VarTupleType():
                longest = FEW if self._small or rng.random() < 0.95 else 1000
                length = rng.randint(kind.min_length or 0, min(longest, kind.max_length or longest))
                return [self._of(kind.item_type) for _ in range(length)]
            case inspect.TupleType():
                return [self._of(item_type) for item_type in kind.item_types]
            case inspect.DictType():
                return {}
            case inspect.NoneType():
                return None
        raise TypeError(f"no value is known for {kind}")

    def _whole(self, kind: inspect.IntType) -> int:
        """Whole number: often a power of two, seldom an end of the allowed range."""
        rng = self._rng
        low = kind.ge if kind.ge is not None else (kind.gt or 0) + 1
        high = kind.le if kind.le is not None else (kind.lt or 2**24) - 1
        if self._small:
            return rng.choice(
                (rng.randint(low, min(high, low + FEW)), min(high, max(low, 2 ** rng.randint(0, 3))))
            )
        sizes = (
            rng.randint(low, min(high, low + 300)),
            min(high, max(low, 2 ** rng.randint(0, 10))),
            min(high, low + int(2 ** rng.uniform(0, 24))),
            rng.choice((low, high)),
        )
        return rng.choices(sizes, (5, 5, 1, 1))[0]

    def _number(self, kind: inspect.FloatType) -> float:
        """Number within its limits: mostly of ordinary size, seldom very small or very large."""
        rng = self._rng
        size = 10 ** rng.uniform(-3, 0.5)
        if rng.random() < 0.1:
            size = rng.choice((0.0, 1.0, 1e-38, 1e-300, 1e6, 1e38))
        if kind.ge is None and kind.gt is None and rng.random() < 0.5:
            size = -size
        low = kind.ge if kind.ge is not None else kind.gt if kind.gt is not None else -math.inf
        high = kind.le if kind.le is not None else kind.lt if kind.lt is not None else math.inf
        if kind.gt is not None and size <= kind.gt:
            return kind.gt + 1e-3
        if kind.lt is not None and size >= kind.lt:
            return kind.lt - 1e-3
        return min(max(size, low), high)

    def _text(self) -> str:
        return " ".join(self._rng.choices(WORDS, k=self._rng.randint(1, 6)))


def _is_shipped(kind: Any) -> bool:
    """Whether a type belongs to no experimental part."""
    return not (isinstance(kind, inspect.StructType) and getattr(kind.cls, "experimental", False))


@cache
def _experimental_names() -> frozenset[str]:
    """Names of experimental parts that documents name by a word."""
    losses = (kind for kind, member in catalogue.members("losses").items() if member.experimental)
    return frozenset((*losses, *(name for name, measure in named().items() if measure.experimental)))


def _admitted(raw: Raw) -> bool:
    """Whether a document is a valid experiment."""
    try:
        reading.parse(raw)
    except BadInput:
        return False
    return True


@cache
def _fields_of(struct: Any) -> dict[str, inspect.Field]:
    described = inspect.type_info(struct)
    assert isinstance(described, inspect.StructType), "only Structs have fields"
    return {field.name: field for field in described.fields}


def _places(node: Any) -> list[tuple[Any, Any]]:
    """All places of a document: a table or list, and a key or number in it."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    places: list[tuple[Any, Any]] = [(node, key) for key in keys]
    for key in keys:
        places += _places(node[key])
    return places


def _spoil(node: Any, key: Any, rng: Random) -> None:
    """Spoil the value at one place."""
    value = node[key]
    how = rng.choice(("junk", "junk", "junk", "delete", "add", "repeat", "wrap", "scale", "swap"))
    if how == "delete":
        del node[key]
    elif how == "add" and isinstance(node, dict):
        node[rng.choice(("unknown", "kind", "lr", "d", "", "näme", "a.b"))] = _junk(rng)
    elif how == "repeat" and isinstance(value, list):
        node[key] = value * rng.choice((2, 3, 500))
    elif how == "wrap":
        node[key] = rng.choice(([value], {"kind": value}, [[value]]))
    elif how == "scale" and isinstance(value, int | float):
        node[key] = value * rng.choice((-1, 0, 2, 0.5, 10**6, 10**30))
    elif how == "swap" and isinstance(node, dict):
        other = rng.choice(list(node))
        node[key], node[other] = node[other], node[key]
    else:
        node[key] = _junk(rng)


def _junk(rng: Random) -> Any:
    """TOML value that fits almost nowhere."""
    return rng.choice(
        (
            0, -1, 1, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, math.nan, math.inf, -math.inf, True, False,
            "", "x", "1", "1/d", "2^n^n^n", "((((d", "best", "auto", "hadamard", "gd",
            "a\nb", "\x1b]0;x\x07", "\u202e", "é" * 5000,
            [], [0], [[]], ["a", 1], {}, {"kind": "gd"}, {"kind": 3}, {"": ""},
            datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.time(1),
        )
    )  # fmt: skip
