"""In random experiments where lines of the theory hold, learners that they bind respect them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import msgspec
import pytest
from building import experiment
from discovery import LEARNERS, slower
from test_bounds import HOLDS, HOLDS_NOT

from engine.core import catalogue
from engine.core.parts import BadInput, Finding
from engine.measures import named
from engine.pictures.respect import ENOUGH, respect
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.experiment import Experiment
from engine.spec.pictures import of_run
from engine.theory import ri_signed, signed_orthogonal

SIDES = {"lower": ("lower",), "upper": ("upper",), "exact": ("lower", "upper")}
"""On which sides a line is respected, by its direction; the others promise nothing of one run."""

TRIED, RUN = 300, 12
"""So many random pairs of a problem and a learner are looked at, and so many are run at most."""

CHANGES: tuple[dict[str, Any], ...] = ({}, {"rotate": True}, {"repeat": 2}, {"noise": 0.3})
"""What is changed of a problem: of its matrix, or its label noise. Every one may have these."""


SOLVERS = [learner for learner in LEARNERS.values() if "solver" in learner]
TRAINED = [
    [learner for learner in slower(LEARNERS, by).values() if "update" in learner] for by in (1, 1 / 8, 1 / 32)
]
"""At d = 8 default rates hardly learn, and at 32 times these some rules diverge."""


@cache
def problems() -> list[tuple[dict[str, Any], Experiment]]:
    """Those of the tables of cases, each as it is and with every change, and an experiment of each."""
    found = []
    for _, words, *_ in (*HOLDS, *HOLDS_NOT):
        for change in CHANGES:
            changed = {"d": 8, **words}
            if "noise" in change:
                changed |= change
            elif change:
                matrix = changed.get("matrix", "hadamard")
                changed["matrix"] = {**({"kind": matrix} if isinstance(matrix, str) else matrix), **change}
            with suppress(BadInput):
                found.append((changed, experiment(**changed)))
    return found


def those_bound(kind: str) -> Iterator[Experiment]:
    """Random experiments in which a line holds and binds the learner."""
    line, rng = catalogue.make("theory", kind), Random(0)
    where = [words for words, described in problems() if line.on_problem(described).holds]
    for _ in range(TRIED if where else 0):
        words, learner = rng.choice(where), rng.choice(rng.choice((SOLVERS, *TRAINED)))
        settings = {"measures": [msgspec.to_builtins(named()[line.measure])], "seed": rng.randrange(1000)}
        with suppress(BadInput):
            described = experiment(learners={"it": learner}, replicas=ENOUGH, **words, **settings)
            if line.judged(described.learners[0], described).holds:
                yield described


def broken(kind: str) -> tuple[int, list[str]]:
    """How many random experiments there are for a line, and what those say that break it."""
    line, tried, found = catalogue.make("theory", kind), 0, []
    for described, _ in zip(those_bound(kind), range(RUN), strict=False):
        picture = of_run(described, line.measure)
        if line.about == "median":
            picture = msgspec.structs.replace(picture, summary="median")
        try:
            trace = run(described)
        except BadInput:  # its steps would be too many
            continue
        seen = view(picture, of_one(described, trace))
        for one in seen.lines:
            for curve in seen.curves if one.kind == kind else ():
                if one.is_about(curve) and one.binds(curve):
                    tried += 1
                    for side in SIDES.get(line.direction, ()):
                        judged = respect(curve, replace(one, direction=side), seen.rounding)
                        if judged.holds is False:
                            found.append(f"{judged.detail}, of {msgspec.to_builtins(described)}")
    return tried, found


LINES = {
    kind: line
    for kind, line in catalogue.members("theory").items()
    if line.direction in SIDES and named()[line.measure].is_number
}
"""Those that can be broken by a number."""


@pytest.mark.parametrize("kind", [kind for kind, line in LINES.items() if line.experimental])
def test_an_experimental_line_is_respected_by_those_that_it_binds(kind: str) -> None:
    tried, found = broken(kind)
    assert not found, f"{len(found)} of {tried} experiments: {found[0]}"
    if not tried:
        pytest.skip("there is no such experiment among those of the tables of cases")


def test_a_line_that_forgets_that_rows_may_be_repeated_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken("ri-signed") == (RUN, [])

    def forgetful(experiment: Experiment) -> Finding | None:
        lacks = signed_orthogonal(experiment)
        return None if lacks is not None and "repeated" in lacks.reason else lacks

    monkeypatch.setattr(ri_signed, "signed_orthogonal", forgetful)
    assert broken("ri-signed")[1]
