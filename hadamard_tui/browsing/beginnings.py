"""Problems and learners for a new experiment: the most frequent ones of the built-in presets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.core.catalogue import members
from engine.core.parts import summary_of
from engine.spec import presets, reading

if TYPE_CHECKING:
    from engine.spec.reading import Raw

MOST = 7
"""Maximum length of the list of problems, and of the list of learners."""

CLAUSE = re.compile("[:;]")
"""Pattern of the punctuation that ends the first clause of a summary."""


class FirstProblem(NamedTuple):
    """Problem that the app offers for a new experiment.

    Args:
        matrix: kind of the matrix. Its rows are the instances.
        target: kind of the target, which gives the labels.
    """

    matrix: str
    target: str

    @property
    def title(self) -> str:
        return f"{self.matrix}, {self.target}"

    @property
    def summary(self) -> str:
        kinds = (("matrices", self.matrix), ("targets", self.target))
        clauses = (CLAUSE.split(summary_of(members(family)[kind]))[0] for family, kind in kinds)
        return ". ".join(clause.rstrip(".") for clause in clauses)


class Beginner(NamedTuple):
    """Learner that the app offers for a new experiment.

    Args:
        parts: pairs of a field and a kind, such as ("update", "gd"). A learner has either a solver, or an
            architecture and an update rule.
    """

    name: str
    parts: tuple[tuple[str, str], ...]

    @property
    def summary(self) -> str:
        part, kind = self.parts[0] if self.parts[0][1] != "linear" else self.parts[-1]
        return summary_of(members(FAMILIES[part])[kind])


FAMILIES = {"solver": "solvers", "architecture": "architectures", "update": "updates"}


def problems() -> list[FirstProblem]:
    return _problems_and_learners()[0]


def learners() -> list[Beginner]:
    return _problems_and_learners()[1]


@cache
def _problems_and_learners() -> tuple[list[FirstProblem], list[Beginner]]:
    # Both lists are made together, because parsing all presets takes time, and both lists need it.
    documents = [reading.read_raw(presets.path_of(preset_name)) for preset_name in presets.names()]
    counted = Counter(problem for raw_document in documents for problem in _problem_of(raw_document))
    return [problem for problem, _ in counted.most_common(MOST)], _frequent_learners(documents)


def _frequent_learners(documents: Sequence[Raw]) -> list[Beginner]:
    names: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    for raw_document in documents:
        for learner in raw_document["learners"]:
            parts = tuple(
                (family, _kind_of_part(learner[family])) for family in FAMILIES if family in learner
            )
            if parts and parts != (("architecture", parts[0][1]),):
                names.setdefault(parts, Counter())[learner["name"]] += 1
    frequent = sorted(names, key=lambda parts: -names[parts].total())[:MOST]
    return [Beginner(_learner_name(parts, names[parts]), parts) for parts in frequent]


def document(problem: FirstProblem, learner: Beginner) -> Raw:
    parts = {part: {"kind": kind} for part, kind in learner.parts}
    return {
        "title": f"{learner.name} on {problem.title}",
        "problem": {"matrix": {"kind": problem.matrix}, "target": {"kind": problem.target}},
        "protocol": {"kind": "one-pass"},
        "learners": [{"name": learner.name, **parts}],
    }


def _problem_of(raw: Raw) -> Iterator[FirstProblem]:
    problem = raw["problem"]
    if "target" in problem:
        yield FirstProblem(_kind_of_part(problem["matrix"]), _kind_of_part(problem["target"]))


def _learner_name(parts: tuple[tuple[str, str], ...], names: Counter[str]) -> str:
    part, kind = parts[0]
    if part == "solver" or kind == "linear":
        return names.most_common(1)[0][0]
    update = parts[1][1]
    return kind if update == "gd" else f"{kind}, {update}"


def _kind_of_part(part: Any) -> str:
    return str(part["kind"]) if isinstance(part, dict) else str(part)
