"""Ends of every field: every allowed or refused value is read, checked and estimated fast."""

import contextlib
import math
import time
import tracemalloc

import numpy as np
import pytest
from building import needed, raw
from discovery import PARTS, fields, loss_of, ready, takes_any_labels, variants
from looping import looped
from msgspec import inspect

from engine.core import catalogue
from engine.core.parts import LARGEST, BadInput
from engine.core.streams import Streams
from engine.learners.learner import Learner
from engine.planning import memory_estimate
from engine.planning.run_plan import plan_run
from engine.problems.problem import Problem
from engine.protocols import nearest, places
from engine.spec import reading
from engine.spec.experiment import MOST_CLAIMS, MOST_LEARNERS, Experiment, RunSettings

pytestmark = pytest.mark.slow

SECONDS = 1.0
"""Largest processor time for reading, checking and estimating: five times the slowest experiment's."""

TRIES = 3
"""Tries, of which the fastest counts, since one may include a garbage collection of the suite."""

BYTES = 4 << 20

STRUCTS = [*(member for *_, member in PARTS), Problem, RunSettings, Learner, Experiment]

SIZED = inspect.StrType | inspect.VarTupleType | inspect.DictType


def bare(kind):
    """Types of a field without annotations; a union has several."""
    if isinstance(kind, inspect.Metadata):
        return bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [member_type for member in kind.types for member_type in bare(member)]
    return [kind]


@looped("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_integer_and_list_field_has_limits(struct):
    for field in fields(struct):
        for kind in bare(field.type):
            items = bare(kind.item_type) if isinstance(kind, inspect.VarTupleType) else []
            for number_type in (kind, *items):
                if isinstance(number_type, inspect.IntType):
                    assert number_type.ge is not None or number_type.gt is not None, field.name
                    assert number_type.le is not None or number_type.lt is not None, field.name
            if isinstance(kind, SIZED) and not getattr(kind, "pattern", None):
                assert kind.max_length is not None, field.name


def ends(kind):
    """Values at the ends of a type and beyond them, by name."""
    match kind:
        case inspect.IntType():
            low = kind.ge if kind.ge is not None else kind.gt + 1
            high = kind.le if kind.le is not None else kind.lt - 1
            return {"least": low, "most": high, "less": low - 1, "more": high + 1, "huge": 10**30}
        case inspect.FloatType():
            low = kind.ge if kind.ge is not None else 5e-324 if kind.gt == 0 else -LARGEST
            beyond = {"more": 1e308, "less": -1.0, "nan": math.nan, "infinite": math.inf}
            return {"least": low, "large": kind.le or kind.lt or LARGEST, **beyond}
        case inspect.StrType():
            return {"long": "x" * (kind.max_length or 1000), "longer": "x" * 20_000, "none": ""}
        case inspect.VarTupleType():
            items = range(kind.max_length + 1)
            item, *further_types = bare(kind.item_type)
            if further_types:  # parts, as measures are
                return {"none": []}
            if isinstance(item, inspect.FloatType):
                lists = {"most": [1 + number / 1000 for number in items]}
            elif isinstance(item, inspect.TupleType):  # points, one right of the other
                lists = {"most": [[1 + number / 1000] * len(item.item_types) for number in items]}
            else:
                lists = {"most": [ends(item)["most"] for _ in items], "many": [1 for _ in items]}
            return {end: entries[:-1] for end, entries in lists.items()} | {"more": lists["most"], "none": []}
        case _:
            return {}


def described(family, words):
    """An experiment around a part, as a preset would hold it."""
    places = {"matrices": "matrix", "targets": "target", "protocols": "protocol"}
    learner = {"architecture": "linear", "update": "gd"}
    if family == "updates":
        learner["update"] = words
    elif family == "architectures":
        learner = {"architecture": words, "update": "adagrad-full"}
    elif family == "solvers":
        learner = {"solver": words}
    loss = loss_of({"update": {"kind": words["kind"]}}) if family == "updates" else "square"
    labels = "soft" if loss == "square" and takes_any_labels(learner) else "sign"
    if family == "claims":
        return raw(
            d=8, learners=dict.fromkeys(("GD", "EGU", "EGU±", "hypentropy", "net"), learner), claims=[words]
        )
    problem = {places[family]: words} if family in places else {}
    return raw(learners={"it": learner}, loss=loss, labels=labels, **problem)


def extremes():
    """Experiments by name: every field of every part at its ends, and lists at their longest."""
    for family, kind, member in PARTS:
        for field in fields(member) if family not in ("losses", "theory") else ():
            for end, value in (
                pair for member_type in bare(field.type) for pair in ends(member_type).items()
            ):
                words = {**ready(family, kind, "absent.npy"), field.name: value}
                yield f"{kind}.{field.name} {end}", described(family, words)
    for struct, place in ((Problem, "problem"), (RunSettings, "run")):
        for field in fields(struct):
            for end, value in (
                pair for member_type in bare(field.type) for pair in ends(member_type).items()
            ):
                words = raw()
                words[place][field.name] = value
                yield f"{place}.{field.name} {end}", words
    largest = raw({"kind": "gaussian", "d": 1 << 20, "n": 1 << 24}, "all", replicas=1 << 24)
    for kind in catalogue.members("protocols"):
        yield f"{kind} most", {**largest, "protocol": {"kind": kind}}
    best = {"update": {"kind": "adagrad-full", "lr": "best"}}
    yield "second order most", raw({"kind": "rademacher", "d": 1 << 20}, learners={"A": best})
    names = [f"learner {number}" for number in range(MOST_LEARNERS + 1)]
    yield "learners most", raw(learners=dict.fromkeys(names[:-1], best))
    yield "learners more", raw(learners=dict.fromkeys(names, best))
    claims = [
        {"kind": "value", "text": str(k), "curve": "GD", "at": k % 128, "below": 1.0}
        for k in range(MOST_CLAIMS + 1)
    ]
    yield "claims most", raw(claims=claims[:-1])
    yield "claims more", raw(claims=claims)


def judged(words):
    """Read, check and estimate an experiment, or refuse it."""
    with contextlib.suppress(BadInput):
        memory_estimate.check(plan_run(reading.parse(words)), "cpu")


def seconds_to_judge(words):
    """Return the fastest processor time of a few tries; the first that is short enough ends them."""
    fastest = math.inf
    for _ in range(TRIES):
        began = time.process_time()
        judged(words)
        fastest = min(fastest, time.process_time() - began)
        if fastest <= SECONDS:
            break
    return fastest


def test_extreme_experiments_are_read_checked_and_estimated_quickly():
    judged(raw())
    times = {name: seconds_to_judge(words) for name, words in extremes()}
    assert not {name: seconds for name, seconds in times.items() if seconds > SECONDS}


def test_estimating_the_largest_experiments_takes_little_memory():
    large = []
    judged(raw())
    largest = [(name, words) for name, words in extremes() if name.endswith(" most")]
    tracemalloc.start()
    try:
        for name, words in largest:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with contextlib.suppress(BadInput):
                needed(reading.parse(words))
            _, peak = tracemalloc.get_traced_memory()
            if peak - before > BYTES:
                large.append((name, peak - before))
    finally:
        tracemalloc.stop()
    assert not large


@looped("d", [1, 2, 5])
@looped("kind", catalogue.members("architectures"))
def test_the_layout_of_an_architecture_matches_its_start(kind, d):
    for words in variants(catalogue.members("architectures")[kind]):
        architecture = catalogue.make("architectures", **words)
        start = architecture.start(Streams([1, 2])("init"), d)
        assert architecture.layout(d).shapes == {
            tensor_name: values.shape[1:] for tensor_name, values in start.items()
        }
        assert architecture.layout(d).size == sum(values.size for values in start.values()) / 2


@pytest.mark.parametrize("kind", catalogue.members("protocols"))
def test_counting_and_finding_records_matches_their_grid(kind):
    for n in range(1, 14):
        for field in ({}, {"every": 3}, {"examples": 5}, {"epochs": 7}, {"records": 3}, {"steps": 9}):
            if field.keys() <= set(catalogue.members("protocols")[kind].__struct_fields__):
                protocol = catalogue.make("protocols", kind, **field)
                grid = places(protocol, n)
                assert (len(grid), grid[0], grid[-1]) == (
                    protocol.extent(n).records,
                    0,
                    protocol.extent(n).last,
                )
                assert np.array_equal(grid, np.unique(grid))
                for x in range(int(grid[-1]) + 1):
                    assert nearest(protocol, x, n) == grid[np.abs(grid - x).argmin()]
