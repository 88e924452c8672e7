"""The set-up on the panels: a document while it is edited, an experiment once it is sound."""

from __future__ import annotations

import copy
import itertools
import re
from typing import Any

import msgspec

from engine.core.parts import BadInput
from engine.spec import plan as plans
from engine.spec import presets, reading
from engine.spec.experiment import Experiment
from engine.spec.plan import Plan
from engine.spec.reading import Raw
from hadamard_tui.editing.differences import differences


class EditableExperiment:
    """An experiment being edited. `experiment` is what a run would take now; `error` says why it cannot.

    `document` is the same as a preset would say it, with its expressions, and `raw` that with the learners
    that are off. `off` holds these, which stay in the set-up and out of the run, by their place among all.
    """

    def __init__(
        self, described: Experiment | Raw, preset: str | None, off: dict[int, dict[str, Any]] | None = None
    ) -> None:
        """Raises: BadInput for a document that describes no experiment."""
        given: Raw = msgspec.to_builtins(described)
        experiment = plans.first(given)
        document = plans.in_full(given, experiment)
        self.preset = preset
        self.off = dict(off or {})
        self._origin_document = presets.document(preset) if preset in presets.names() else document
        self._origin = plans.first(self._origin_document)
        if experiment == self._origin and document == plans.in_full({}, experiment):
            document = self._origin_document  # of which these are the numbers
        self._accept(experiment, document)

    @classmethod
    def of(cls, preset: str) -> EditableExperiment:
        """The set-up of a preset. Raises: BadInput."""
        return cls(presets.document(preset), preset)

    def _accept(self, experiment: Experiment, given: Raw) -> None:
        """Take what `given` describes, with the words that are true of it."""
        words = self._words(experiment, plans.in_full(given, experiment))
        self.experiment = msgspec.structs.replace(experiment, **words)
        self.document = plans.in_full(given, self.experiment)
        self.error: BadInput | None = None
        rows, _ = experiment.problem.matrix.shape()
        self.last = float(experiment.protocol.last(rows))
        """Where the x-axis of a run ends."""
        self.raw: Raw = copy.deepcopy(self.document)
        for place in sorted(self.off):
            self.learners.insert(place, self.off[place])

    def plan(self) -> Plan:
        """All runs that the set-up asks for. Raises: BadInput for a point of its axes that cannot run."""
        return plans.plan(self.document) if self.document.get("axes") else plans.only(self.experiment)

    @property
    def changed(self) -> bool:
        """Whether this is no longer what the preset says."""
        return self.error is not None or self.document != self._origin_document

    @property
    def learners(self) -> list[dict[str, Any]]:
        """The learners as raw values."""
        learners: list[dict[str, Any]] = self.raw["learners"]
        return learners

    def value(self, place: str) -> Any:
        """The raw value at a place such as `learners[0].update.lr`; None if there is none."""
        return reading.value_at(place, self.raw)

    def number(self, place: str) -> Any:
        """What the expressions at a place come to; None where there are none, or the set-up cannot run."""
        value = self.value(place)
        if self.error is not None or not any(isinstance(one, str) for one in _items(value)):
            return None
        try:
            found = reading.value_at(self._among_running(place), msgspec.to_builtins(self.experiment))
        except KeyError:
            return None
        return found if any(isinstance(one, int | float) for one in _items(found)) else None

    def put(self, place: str, value: Any) -> None:
        """Set the value at a place. Claims are about the preset as it is: they go, and come back with it."""
        if self.value(place) == value:
            return
        reading.put(self.raw, place, value)
        self._check()

    def put_method(self, learner: int, kind: str) -> None:
        """Make a learner follow an update rule (`kind` = "gradient") or solve ("solver")."""
        changed = self.learners[learner]
        if kind == "solver":
            changed |= {"architecture": None, "update": None, "solver": {"kind": "lls"}}
        else:
            changed |= {"architecture": {"kind": "linear"}, "update": {"kind": "gd"}, "solver": None}
        self._check()

    def add_learner(self, learner: int) -> int:
        """Add a new learner behind another, gradient descent on a linear neuron; its place."""
        parts = {"architecture": {"kind": "linear"}, "update": {"kind": "gd"}, "solver": None}
        return self._insert(learner + 1, {"name": self._free_name("GD"), **parts})

    def copy_learner(self, learner: int) -> int:
        """Add a copy of a learner behind it, under a name of its own; the place of the copy."""
        twin = copy.deepcopy(self.learners[learner])
        return self._insert(learner + 1, twin | {"name": self._free_name(twin["name"])})

    def _free_name(self, wanted: str) -> str:
        names = {other["name"] for other in self.learners}
        numbered = (f"{wanted} {number}" for number in itertools.count(2))
        return next(name for name in itertools.chain((wanted,), numbered) if name not in names)

    def _insert(self, place: int, values: dict[str, Any]) -> int:
        self.learners.insert(place, values)
        self.off = {other + (other >= place): left for other, left in self.off.items()}
        self._check()
        return place

    def remove_learner(self, learner: int) -> int:
        """Remove a learner unless none would be left to run; the place of the one that is next to it now."""
        if learner in self.off or len(self.learners) - len(self.off) > 1:
            del self.learners[learner]
            self.off.pop(learner, None)
            self.off = {other - (other > learner): left for other, left in self.off.items()}
            self._check()
        return min(learner, len(self.learners) - 1)

    def switch_learner(self, learner: int) -> bool:
        """Take a learner out of the run, or back in; False for the last one, which has to stay."""
        if learner in self.off:
            del self.off[learner]
        elif len(self.learners) - len(self.off) > 1:
            self.off[learner] = self.learners[learner]
        else:
            return False
        self._check()
        return True

    def place_in_run(self, learner: int) -> int | None:
        """Which of the learners that run this is; None if it is off."""
        return None if learner in self.off else learner - sum(place < learner for place in self.off)

    def refused(self, learner: int) -> bool:
        """Whether something about a learner is why the set-up cannot run."""
        where = "" if self.error is None else self.error.where
        return where == f"learners[{learner}]" or where.startswith(f"learners[{learner}].")

    def _check(self) -> None:
        self.raw["claims"] = []
        try:
            running = [values for place, values in enumerate(self.learners) if place not in self.off]
            given = {**self.raw, "learners": running}
            experiment = plans.first(given)
            if _without_words(experiment) == _without_words(self._origin):
                experiment, given["claims"] = self._origin, self._origin_document["claims"]
            self._accept(experiment, given)
        except BadInput as error:
            self.error = BadInput(self._among_all(error.where), error.what)

    def _among_all(self, where: str) -> str:
        """A place inside the learners that run, as a place among all of them."""
        found = re.match(r"learners\[(\d+)\]", where)
        if found is None:
            return where
        running = [place for place in range(len(self.learners)) if place not in self.off]
        return f"learners[{running[int(found.group(1))]}]{where[found.end() :]}"

    def _among_running(self, place: str) -> str:
        """A place inside the learners, as one among those that run. Raises: KeyError for one that is off."""
        found = re.match(r"learners\[(\d+)\]", place)
        if found is None:
            return place
        number = self.place_in_run(int(found.group(1)))
        if number is None:
            raise KeyError(place)
        return f"learners[{number}]{place[found.end() :]}"

    def _words(self, experiment: Experiment, document: Raw) -> dict[str, str]:
        """What is told of a preset is not true of what it is changed into: the title says the change then.

        Where only the run differs, as in its seed or device, the story stays true.
        """
        origin = self._origin
        if _without_words(msgspec.structs.replace(experiment, run=origin.run)) == _without_words(origin):
            return {"title": origin.title, "story": origin.story, "source": origin.source}
        name = self.preset or origin.title or "Your own experiment"
        changes = differences(self._origin_document, document)
        return {"title": f"{name}: {', '.join(changes)}", "story": "", "source": ""}


def _items(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else [value]


def _without_words(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, title="", story="", source="", claims=())
