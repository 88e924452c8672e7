"""The set-up on the panels: raw values while they are edited, an experiment once they are sound."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from engine import presets, reading
from engine.experiment import Experiment
from engine.parts import BadInput
from hadamard_tui.differences import differences


class Draft:
    """An experiment being edited. `experiment` is what a run would take now; `error` says why it cannot."""

    def __init__(self, experiment: Experiment, preset: str | None) -> None:
        self.preset = preset
        self._origin = presets.load(preset) if preset in presets.names() else experiment
        self._accept(experiment)

    @classmethod
    def of(cls, preset: str) -> Draft:
        """The set-up of a preset. Raises: BadInput."""
        return cls(presets.load(preset), preset)

    def _accept(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.error: BadInput | None = None
        self.raw: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(experiment))

    @property
    def changed(self) -> bool:
        """Whether this is no longer what the preset says."""
        return self.error is not None or self.experiment != self._origin

    @property
    def learners(self) -> list[dict[str, Any]]:
        """The learners as raw values."""
        learners: list[dict[str, Any]] = self.raw["learners"]
        return learners

    def value(self, place: str) -> Any:
        """The raw value at a place such as `learners[0].update.lr`; None if there is none."""
        return reading.value_at(place, self.raw)

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

    def copy_learner(self, learner: int) -> int:
        """Add a copy of a learner behind it, under a name of its own; the place of the copy."""
        twin = copy.deepcopy(self.learners[learner])
        names = {other["name"] for other in self.learners}
        number = 2
        while f"{twin['name']} {number}" in names:
            number += 1
        twin["name"] = f"{twin['name']} {number}"
        self.learners.insert(learner + 1, twin)
        self._check()
        return learner + 1

    def remove_learner(self, learner: int) -> int:
        """Remove a learner unless it is the last; the place of the one that is next to it now."""
        if len(self.learners) > 1:
            del self.learners[learner]
            self._check()
        return min(learner, len(self.learners) - 1)

    def _check(self) -> None:
        self.raw["claims"] = []
        try:
            experiment = reading.parse(self.raw)
            same = _without_words(experiment) == _without_words(self._origin)
            self._accept(self._origin if same else self._retold(experiment))
        except BadInput as error:
            self.error = error

    def _retold(self, experiment: Experiment) -> Experiment:
        """What was told of the preset is not true of what it was changed into: its title says the change."""
        name = self.preset or self._origin.title or "Your own experiment"
        title = f"{name}: {', '.join(differences(self._origin, experiment))}"
        return msgspec.structs.replace(experiment, title=title, story="", source="")


def _without_words(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, title="", story="", source="", claims=())
