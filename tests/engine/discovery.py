"""Parts, learners and problems found in the catalogue, without any list to maintain."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
import pytest
from crossing import Traits, covering_names, crossings
from msgspec import inspect

from engine.core import catalogue
from engine.core.parts import BadField, BadInput, Part
from engine.spec.document_expressions import resolved
from engine.spec.experiment import MOST_LEARNERS
from engine.updates import refused_loss

FAMILIES = tuple(catalogue.FOLDERS)
D = 16

UNITS = 8
"""Hidden units of a layer."""

LONG = 64
"""Default number of rows above which tests give a matrix fewer rows."""

PARTS = [(family, kind, member) for family in FAMILIES for kind, member in catalogue.members(family).items()]
PART_IDS = [f"{family}-{kind}" for family, kind, _ in PARTS]


def asked(family: str) -> list[str]:
    """Kinds of a family that must be tested: by a preset, a naive twin, or a row in a table of cases."""
    return [kind for kind, member in catalogue.members(family).items() if not member.experimental]


@cache
def fields(member: type[Part]) -> tuple[inspect.Field, ...]:
    """The fields of a part with their types."""
    kind = inspect.type_info(member)
    assert isinstance(kind, inspect.StructType)
    return kind.fields


def plain(kind: Any) -> Any:
    """A field's type without its annotation, and without None."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        real = [member_type for member_type in kind.types if not isinstance(member_type, inspect.NoneType)]
        if len(real) == 1:
            return plain(real[0])
    return kind


NEEDED_BESIDE = {("file", "encode"): {"label": 3}}
"""Fields that a choice needs: the label is not encoded, so `encode` must know its column."""


def variants(member: type[Part]) -> list[dict[str, Any]]:
    """Raw parts of a kind: the default, and one for every other choice of every field with choices.

    A choice that the part refuses next to its defaults comes with the first other choice that it accepts.
    """
    kind = str(member.__struct_config__.tag)
    changes: list[dict[str, Any]] = []
    for field in fields(member):
        of = plain(field.type)
        choices: tuple[Any, ...] = ()
        if isinstance(of, inspect.BoolType):
            choices = (False, True)
        elif isinstance(of, inspect.LiteralType):
            choices = of.values
        beside = NEEDED_BESIDE.get((kind, field.name), {})
        changes += [{field.encode_name: choice, **beside} for choice in choices if choice != field.default]
    settings: list[dict[str, Any]] = [{"kind": kind}]
    for change in changes:
        ways = (
            {"kind": kind, **change, **other} for other in ({}, *changes) if change.keys() != other.keys()
        )
        settings.append(next(words for words in ways if _admits(member, words)))
    return settings


def _admits(member: type[Part], words: dict[str, Any]) -> bool:
    """Whether a part accepts the values of its fields."""
    try:
        msgspec.convert(words, member)
    except msgspec.ValidationError as error:
        return not isinstance(error.__cause__, BadField)
    return True


def refusal(update: str, architecture: dict[str, Any]) -> str | None:
    """Reason why an update rule refuses an architecture, or None."""
    rule = catalogue.make("updates", update)
    reason: str | None = rule.refuses(catalogue.make("architectures", **architecture))
    return reason


def name_of(words: dict[str, Any]) -> str:
    """Short name of a raw part."""
    return " ".join([words["kind"], *(f"{key}={value}" for key, value in words.items() if key != "kind")])


def solvers() -> dict[str, dict[str, Any]]:
    """Every solver with each of its choices, by name."""
    return {
        name_of(words): {**words, **_few_strengths(kind), **_few_starts(kind)}
        for kind, solver in catalogue.members("solvers").items()
        for words in variants(solver)
    }


def _learners() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, solver in solvers().items():
        yield name, {"solver": solver}
    for update in catalogue.members("updates"):
        for architecture in catalogue.members("architectures").values():
            for words in variants(architecture):
                has_every_setting = update == "gd" or words.keys() <= {"kind", "init"}
                if has_every_setting and refusal(update, words) is None:
                    net = {**words, **_few_units(architecture)}
                    yield f"{update} {name_of(words)}"[:40], {"update": {"kind": update}, "architecture": net}


def _few_units(architecture: type[Part]) -> dict[str, Any]:
    """Fields that give an architecture few hidden units where it has many by default.

    Few units reveal the same errors as many, and the cost of some rules grows with their third power.
    """
    if "widths" in architecture.__struct_fields__:
        return {"widths": [UNITS]}
    usual = next((field.default for field in fields(architecture) if field.name == "width"), None)
    return {"width": UNITS} if isinstance(usual, int) and usual > UNITS else {}


def _few_strengths(kind: str) -> dict[str, float]:
    """Fields that give a solver a range of strengths of a factor of ten, if it chooses from a range."""
    solver = catalogue.make("solvers", kind)
    return {"least": solver.most / 10} if {"least", "most"} <= {*solver.__struct_fields__} else {}


def _few_starts(kind: str) -> dict[str, int]:
    """Fields that give a solver two starts, if it takes the best of several."""
    return {"starts": 2} if "starts" in catalogue.members("solvers")[kind].__struct_fields__ else {}


def loss_of(learner: dict[str, Any]) -> str:
    """Square loss, or the first that a learner's update rule does not refuse."""
    if "update" not in learner:
        return "square"
    rule = catalogue.make("updates", **learner["update"])
    kinds = ("square", *catalogue.members("losses"))
    return next(kind for kind in kinds if refused_loss(rule, catalogue.make("losses", kind)) is None)


EVERY = dict(_learners())
"""Every solver; gradient descent with every choice of every architecture; and every update rule with every
start of every architecture that it does not refuse. Nets have few hidden units."""


def traits(learners: dict[str, dict[str, Any]]) -> dict[str, Traits]:
    """Traits by which learners are crossed: how they learn, their architecture, and its shape."""
    return {name: _traits(learner) for name, learner in learners.items()}


def few(learners: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A few learners that cover every rule, solver, architecture and shape of an architecture.

    They suffice for properties that no combination of rule and architecture can break.
    """
    return {name: learners[name] for name in covering_names(traits(learners))}


def _traits(learner: dict[str, Any]) -> Traits:
    rule = learner.get("update") or learner["solver"]
    words = learner.get("architecture") or learner["solver"]
    shape = {name: value for name, value in words.items() if name not in ("width", "widths")}
    return {"rule": rule["kind"], **shape_traits(shape, "architecture")}


def shape_traits(words: dict[str, Any], family: str) -> Traits:
    """Traits by which a raw part is crossed: its kind, and its difference from the defaults."""
    return {family: words["kind"], "shape": name_of(words).removeprefix(words["kind"]).strip()}


def problem_for(loss: str) -> dict[str, Any]:
    """Problem for a loss: a Hadamard matrix with fitting labels, or three classes for a joint loss."""
    loss_part = catalogue.make("losses", loss)
    if loss_part.joint:
        return {"matrix": {"kind": "clusters", "classes": 3, "n": 8}, "target": "classes"}
    return {"matrix": "hadamard01" if loss_part.labels == "bits" else "hadamard"}


def takes_any_labels(learner: dict[str, Any]) -> bool:
    """Whether a learner works without labels ±1."""
    return (
        "update" in learner
        or catalogue.make("solvers", learner["solver"]["kind"]).structure().labels == "any"
    )


LEARNERS = {
    name: learner
    for name, learner in EVERY.items()
    if loss_of(learner) == "square" and takes_any_labels(learner)
}
"""Learners of EVERY that learn any labels with square loss, and so fit into one experiment."""


def crossed_groups(learners: dict[str, dict[str, Any]], **axes: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize a test by groups of learners of one architecture or solver that fit into one experiment.

    The test receives a group as `learners`, and the values of the axes that cross it. Groups save time, since
    reading and drawing an experiment takes longer than a pass of a small learner.
    """
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for name, *values in crossings(name=traits(learners), **axes):
        groups.setdefault((_group(learners[name]), *values), {})[name] = learners[name]
    cases = [
        pytest.param(group, *values, id="-".join(map(str, (title, *values))))
        for (title, *values), group in groups.items()
    ]
    return pytest.mark.parametrize(("learners", *axes), cases)


def _group(learner: dict[str, Any]) -> str:
    """Properties that learners of one experiment share: architecture or solver, and the loss they need."""
    if "solver" in learner:
        return str(learner["solver"]["kind"])
    loss = loss_of(learner)
    return str(learner["architecture"]["kind"]) + ("" if loss == "square" else f", {loss} loss")


def in_turns(learners: dict[str, dict[str, Any]]) -> Iterator[dict[str, dict[str, Any]]]:
    """Groups of the learners, each as large as an experiment allows."""
    names = list(learners)
    for first in range(0, len(names), MOST_LEARNERS):
        yield {name: learners[name] for name in names[first : first + MOST_LEARNERS]}


def slower(learners: dict[str, dict[str, Any]], by: float) -> dict[str, dict[str, Any]]:
    """The learners with their default rates, or the rates of all their layers, divided by `by`."""
    slower_learners = {}
    for name, learner in learners.items():
        slower_learners[name] = learner
        if (update := learner.get("update")) is None:
            continue
        rate = getattr(catalogue.make("updates", **update), "lr", None)
        if rate is None:
            layers = catalogue.make("architectures", **learner["architecture"]).layers
            slower_learners[name] = {**learner, "layer_rates": dict.fromkeys(layers, 1 / by)}
        else:
            slower_learners[name] = {**learner, "update": {**update, "lr": rate / by}}
    return slower_learners


GENTLE = slower(LEARNERS, 16)
"""Rates at which nothing diverges at d = 8 or 16 and rounding is not amplified."""

EVERY_GENTLE = slower(EVERY, 16)


def ready(family: str, kind: str, path: str, d: int = D) -> dict[str, Any]:
    """Raw part that can be used: with d features if it has that field, and `path` if it needs a file.

    A matrix of many rows has d of them.
    """
    member = catalogue.members(family)[kind]
    if family == "claims":
        return example(member)
    words: dict[str, Any] = {"kind": kind}
    for field in fields(member):
        if field.name == "d":
            words["d"] = d
        elif field.name == "path":
            words["path"] = path
        elif field.name == "entry":
            words["entry"] = min(field.default, d - 1)
        else:
            assert not field.required, f"{kind}.{field.name} has no default; say here how tests fill it"
    if family == "matrices" and "n" in member.__struct_fields__:
        n, _ = catalogue.make(family, **words).shape()
        words |= {"n": d} if n > LONG else {}
    return words


def targets_of(matrix: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """All targets that a matrix admits, of a few features; `path` is the file of labels."""
    matrix_part, targets = catalogue.make("matrices", **matrix), []
    for kind, member in catalogue.members("targets").items():
        words = ready("targets", kind, path)
        few = {"index": min(3, matrix_part.feature_count() - 1), "r": min(5, matrix_part.feature_count())}
        if kind != "file":  # whose `index` is that of a table
            words |= {name: value for name, value in few.items() if name in member.__struct_fields__}
        with suppress(BadInput):
            catalogue.make("targets", **words).check(matrix_part)
            targets.append(words)
    return targets


def example(claim: Any) -> dict[str, Any]:
    """Fields of the example of a claim, with numbers for expressions."""
    fields_of_example = tomllib.loads(f"claim = {claim.example}")["claim"]
    words: dict[str, Any] = resolved(claim, fields_of_example, "", {"d": D, "n": D, "K": 2, "C": 2})
    return {"text": "It is so", **words}


def default_of(field: inspect.Field) -> Any:
    """The default of a field; msgspec.NODEFAULT if it is required."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default
