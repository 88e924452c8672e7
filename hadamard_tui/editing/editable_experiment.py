"""The set-up on the panels: a document while it is edited, an experiment once it is sound."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from engine.core import catalogue
from engine.core.expressions import has_braces, plain
from engine.core.parts import BadInput
from engine.learners.kind_place import KindPlace, kind_places
from engine.spec import documents, presets, reading
from engine.spec.changes import unjudged
from engine.spec.fields import UNTAGGED
from engine.spec.sweep import only
from engine.spec.words import as_document
from hadamard_tui.editing import additions
from hadamard_tui.editing.differences import differences
from hadamard_tui.editing.fitting_claims import Fitting, LeftOut, fitting
from hadamard_tui.editing.names import Names

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from engine.spec.sweep import Sweep

FAMILIES = {"problem.matrix": "matrices", "problem.target": "targets"}
"""Families of the parts that may name data files, by their places."""


class EditableExperiment:
    """An experiment being edited. `experiment` is what a run would take now; `error` says why it cannot.

    `document` is the same as a preset would say it, with its expressions, and `raw` that with the learners
    that are off and the claims that do not fit. `off` holds the former, which stay in the set-up and out of
    the run, and `left_out` the latter, each by its place among all.
    """

    def __init__(
        self,
        described: Experiment | Raw,
        preset: str | None,
        off: dict[int, dict[str, Any]] | None = None,
        left_out: dict[int, dict[str, Any]] | None = None,
    ) -> None:
        """Raises: BadInput for a document that describes no experiment."""
        raw = as_document(described)
        raw["claims"] = list(raw.get("claims", ()))
        for place, claim in sorted((left_out or {}).items()):
            raw["claims"].insert(place, claim)
        experiment, raw, claims = fitting(raw, documents.first)
        document = documents.in_full(raw, experiment)
        self.preset = preset
        self.off = dict(off or {})
        self._names = Names()
        self._origin_document = _document_of(preset) or document
        as_it_was = self._origin_document == document
        self._origin = experiment if as_it_was else documents.first(self._origin_document)
        if experiment == self._origin and document == documents.in_full(as_document(experiment), experiment):
            document = self._origin_document  # of which these are the numbers
        self._accept(experiment, document, claims)
        self.give_letters()

    @classmethod
    def of(cls, preset: str, changes: Iterable[str] = ()) -> EditableExperiment:
        """The set-up of a preset, with changes such as `problem.matrix.d=256`. Raises: BadInput."""
        return cls(presets.document(preset, changes), preset)

    def saved_as(self, preset: str, document: Raw) -> None:
        """It came from this preset file, which says `document`."""
        self.preset, self._origin_document = preset, document
        self._origin = documents.first(document)
        self._check()

    def copied(self) -> EditableExperiment:
        """The same as it is now, whatever becomes of this one."""
        twin = copy.copy(self)
        twin.raw, twin._names = copy.deepcopy((self.raw, self._names))
        twin.off = {place: twin.learners[place] for place in self.off}
        twin.letters = list(self.letters)
        return twin

    def give_letters(self) -> None:
        """Call the learners A, B, … in their order, whatever they were called."""
        self.letters = list(range(len(self.learners)))
        """The number of every learner for its letter, which it keeps."""
        self.next_letter = len(self.letters)

    def call(self, letters: Mapping[str, int]) -> None:
        """Call learners by these numbers, by name, and others by those that follow."""
        free = itertools.count(max(letters.values(), default=-1) + 1)
        self.letters = [letters.get(str(learner["name"]), -1) for learner in self.learners]
        self.letters = [next(free) if letter < 0 else letter for letter in self.letters]
        self.next_letter = next(free)

    @property
    def running_letters(self) -> dict[str, int]:
        """The numbers of the learners that run, by name."""
        running = (place for place in range(len(self.learners)) if place not in self.off)
        return {str(self.learners[place]["name"]): self.letters[place] for place in running}

    @property
    def kind_places(self) -> dict[str, KindPlace]:
        """The kinds of the learners that run and their places among those, by name, without references."""
        learners = [learner for learner in self.experiment.learners if learner.role == "learner"]
        places = kind_places([learner.learner_kind for learner in learners])
        return {learner.name: place for learner, place in zip(learners, places, strict=True)}

    def _accept(self, experiment: Experiment, raw: Raw, claims: Fitting) -> None:
        """Take what `raw` describes, with the words that are true of it, and the claims that fit it."""
        texts = self._words(experiment, documents.in_full(raw, experiment))
        raw = {**raw, **texts}
        if any(map(has_braces, texts.values())):
            self.experiment = documents.first(raw)
        else:
            self.experiment = msgspec.structs.replace(experiment, **texts)
        self.document = documents.in_full(raw, self.experiment)
        self.error: BadInput | None = None
        self._claims = claims
        rows = experiment.n
        self.last = float(experiment.protocol.extent(rows).last)
        """Where the x-axis of a run ends."""
        self.raw: Raw = copy.deepcopy(self.document)
        for place in sorted(self.off):
            self.learners.insert(place, self.off[place])
        for place, (claim, _) in sorted(claims.left_out.items()):
            self.raw["claims"].insert(place, claim)

    def sweep(self) -> Sweep:
        """All runs of the set-up; claims that do not fit all of them are left out, too.

        Claims of the preset are not judged where the set-up is no longer that of the preset.

        Raises: BadInput for a point of its axes that cannot run.
        """
        if not self.document.get("axes"):
            return self._with_unjudged(only(self.experiment))
        try:
            sweep, raw, claims = fitting(self._to_run(), documents.sweep_of)
        except BadInput as error:
            self._refuse(error)
            raise
        self._accept(sweep.experiment, raw, claims)
        return self._with_unjudged(sweep)

    def _with_unjudged(self, sweep: Sweep) -> Sweep:
        return replace(sweep, unjudged=unjudged(sweep, self.document, self._origin_document))

    @property
    def left_out(self) -> dict[int, LeftOut]:
        """The claims that do not fit the set-up, by their place among all."""
        return self._claims.left_out

    @property
    def claims_left_out(self) -> dict[int, dict[str, Any]]:
        """The same as they are written."""
        return {place: omission.claim for place, omission in self.left_out.items()}

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
        if self.error is not None or not any(isinstance(item, str) for item in _items(value)):
            return None
        try:
            number = reading.value_at(self._among_running(place), msgspec.to_builtins(self.experiment))
        except KeyError:
            return None
        return number if any(isinstance(item, int | float) for item in _items(number)) else None

    def read_files(self, place: str, value: Any) -> None:
        """Read the data files of the set-up with a value at a place, so that `put` finds their tables held.

        It may take seconds.
        """
        part = place.rpartition(".")[0]
        if part not in FAMILIES:
            return
        member = catalogue.members(FAMILIES[part]).get(self.value(f"{part}.kind"))
        if member is None or not member.file_fields:
            return
        changed = copy.deepcopy(self.raw)
        with suppress(BadInput):
            reading.put(changed, place, value)
            reading.sizes(changed)

    def put(self, place: str, value: Any) -> None:
        """Set the value at a place. What refers to a name that is put there follows it."""
        if self.value(place) == value:
            return
        self._names.follow(self.raw, place, value)
        reading.put(self.raw, place, value)
        self._check()

    def put_kind(self, place: str, kind: str | None) -> None:
        """Have a part of this kind at a place, with the hyperparameters of the former one that it has; None
        for no part, UNTAGGED where there is one kind only."""
        if kind is None or kind == UNTAGGED:
            self.put(place, None if kind is None else {})
        elif self.value(place) is None:
            self.put(place, {"kind": kind})
        else:
            self.put(f"{place}.kind", kind)

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
        """A name that no learner has; a copy of "GD 2" is "GD 3" where there is a "GD"."""
        names = {other["name"] for other in self.learners}
        if (numbered_name := re.fullmatch(r"(.+) \d+", wanted)) and numbered_name[1] in names:
            wanted = numbered_name[1]
        numbered = (f"{wanted} {number}" for number in itertools.count(2))
        return next(name for name in itertools.chain((wanted,), numbered) if name not in names)

    def _insert(self, place: int, values: dict[str, Any]) -> int:
        self._names.forget()
        self.learners.insert(place, values)
        self.letters.insert(place, self.next_letter)
        self.next_letter += 1
        self.off = {other + (other >= place): learner for other, learner in self.off.items()}
        self._check()
        return place

    def remove_learner(self, learner: int) -> int:
        """Remove a learner unless none would be left to run; the place of the one that is next to it now."""
        if learner in self.off or len(self.learners) - len(self.off) > 1:
            self._names.forget()
            del self.learners[learner], self.letters[learner]
            self.off.pop(learner, None)
            self.off = {other - (other > learner): values for other, values in self.off.items()}
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

    def add(self, part: str) -> int:
        """Add an axis, a picture or a claim, by the name of its part of the document; its place."""
        self._names.forget()
        match part:
            case "axes":
                additions.add_axis(self.raw)
            case "pictures":
                additions.add_picture(self.raw, self.experiment.protocol.clock)
            case _:
                additions.add_claim(self.raw, self.experiment)
        self._check()
        return len(self.raw[part]) - 1

    def remove(self, part: str, number: int) -> None:
        """Remove an axis, a picture or a claim, by the name of its part of the document."""
        self._names.forget()
        match part:
            case "axes":
                additions.remove_axis(self.raw, number, self.experiment.protocol.clock)
            case "pictures":
                additions.remove_picture(self.raw, number)
            case _:
                del self.raw[part][number]
        self._check()

    def give_axis_by(self, number: int, kind: str) -> None:
        """Have an axis say its values one by one ("values"), or as a range ("range")."""
        additions.give_axis_by(self.raw, number, kind)
        self._check()

    def _to_run(self) -> Raw:
        """The document with the learners that are on, and all claims."""
        running = [values for place, values in enumerate(self.learners) if place not in self.off]
        return {**self.raw, "learners": running}

    def _check(self) -> None:
        self.off = {place: self.learners[place] for place in self.off}  # which may have other names in them
        try:
            experiment, raw, claims = fitting(self._to_run(), documents.first)
            self._accept(experiment, raw, claims)
        except BadInput as error:
            self._refuse(error)

    def _refuse(self, error: BadInput) -> None:
        where = self._among_all(error.where)
        self.error = BadInput(self._names.blamed(self.raw, where), error.what)

    def _among_all(self, where: str) -> str:
        """A place inside the learners that run, as a place among all of them."""
        prefix = re.match(r"learners\[(\d+)\]", where)
        if prefix is None:
            return where
        running = [place for place in range(len(self.learners)) if place not in self.off]
        return f"learners[{running[int(prefix.group(1))]}]{where[prefix.end() :]}"

    def _among_running(self, place: str) -> str:
        """A place in the set-up as one in the experiment. Raises: KeyError for what is off or left out."""
        prefix = re.match(r"(learners|claims)\[(\d+)\]", place)
        if prefix is None:
            return place
        part, number = prefix[1], int(prefix[2])
        if part == "claims":
            number_in_run = self._claims.kept.index(number) if number in self._claims.kept else None
        else:
            number_in_run = self.place_in_run(number)
        if number_in_run is None:
            raise KeyError(place)
        return f"{part}[{number_in_run}]{place[prefix.end() :]}"

    def _words(self, experiment: Experiment, document: Raw) -> dict[str, str]:
        """What is said of a preset is not true of what it is changed into: the title says the change then.

        Where only the run differs, as in its seed or device, the story stays true. Texts have expressions, as
        those of documents.
        """
        origin = self._origin
        if _what_runs(msgspec.structs.replace(experiment, run=origin.run)) == _what_runs(origin):
            return {key: self._origin_document[key] for key in ("title", "story", "source")}
        name = presets.name_of(self.preset) if self.preset else origin.title or "Your own experiment"
        changes = map(str, differences(self._origin_document, document))
        return {"title": plain(f"{name}: {', '.join(changes)}"), "story": "", "source": ""}


def _document_of(preset: str | None) -> Raw | None:
    """What a preset says; None for none, and for a file that is gone or broken by now."""
    try:
        return None if preset is None else presets.document(preset)
    except BadInput:
        return None


def _items(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else [value]


def _what_runs(experiment: Experiment) -> Experiment:
    """An experiment without what is said, drawn and claimed of its outcome."""
    words = {"title": "", "story": "", "source": "", "subject": "Other"}
    return msgspec.structs.replace(experiment, **words, pictures=(), claims=())
