"""The set-up: the experiment that the user edits in the app, as a preset document."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import msgspec

from engine.core import catalogue
from engine.core.expressions import has_braces
from engine.core.parts import BadInput
from engine.pictures.view import KindPlace, kind_places
from engine.spec import changes, documents, presets, reading
from engine.spec.changes import unjudged
from engine.spec.differences import texts_of_changed
from engine.spec.document_expressions import as_document
from engine.spec.fields import UNTAGGED
from engine.spec.sweep import only
from hadamard_tui.editing import document_edits
from hadamard_tui.editing.document_edits import Fitting, LeftOutClaim, Names, fitting_claims

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw
    from engine.spec.sweep import Sweep


FAMILIES = {"problem.matrix": "matrices", "problem.target": "targets"}
"""Family of each part that may read data files, by the part's place in the document."""


class EditableExperiment:
    """Experiment that the user edits, which the app calls the set-up.

    Args:
        experiment: the last valid state, which a run would use.
        error: fault of the current state; None if it is valid.
        document: `experiment` as a preset document. Its numbers may be expressions such as 1/(2d).
        raw: the current document. In contrast to `document`, it contains the learners of `off` and the claims
            of `left_out`.
        off: switched-off learners, by their position among all learners.
        left_out: claims that do not fit, such as claims about a missing learner, by their position among all
            claims.
    """

    def __init__(
        self,
        described: Experiment | Raw,
        preset: str | None,
        off: dict[int, dict[str, Any]] | None = None,
        left_out: dict[int, dict[str, Any]] | None = None,
    ) -> None:
        """Start to edit a document or an experiment. Raises: BadInput if it is invalid."""
        raw = as_document(described)
        raw["claims"] = list(raw.get("claims", ()))
        for place, claim in sorted((left_out or {}).items()):
            raw["claims"].insert(place, claim)
        experiment, raw, claims = fitting_claims(raw, documents.first)
        document = documents.in_full(raw, experiment)
        self.preset = preset
        self.off = dict(off or {})
        self._names = Names()
        self._origin_document = _document_of(preset) or document
        as_it_was = self._origin_document == document
        self._origin = experiment if as_it_was else documents.first(self._origin_document)
        if experiment == self._origin and document == documents.in_full(as_document(experiment), experiment):
            document = self._origin_document  # its expressions have the values of `experiment`
        self._accept_experiment(experiment, document, claims)
        self.give_letters()

    @classmethod
    def of(cls, preset: str, changes: Iterable[str] = ()) -> EditableExperiment:
        return cls(presets.document(preset, changes), preset)

    def saved_as(self, preset: str, document: Raw) -> None:
        self.preset, self._origin_document = preset, document
        self._origin = documents.first(document)
        self._check_document()

    def copied(self) -> EditableExperiment:
        twin = copy.copy(self)
        twin.raw, twin._names = copy.deepcopy((self.raw, self._names))
        twin.off = {place: twin.learners[place] for place in self.off}
        twin.letters = list(self.letters)
        return twin

    def give_letters(self) -> None:
        self.letters = list(range(len(self.learners)))
        """Position of each learner's letter in the alphabet.

        A learner keeps its letter when other learners change.
        """
        self.next_letter = len(self.letters)

    def call(self, letters: Mapping[str, int]) -> None:
        """Set the letters that label learners in charts.

        Learners without a letter in `letters` get the next free letters.

        Args:
            letters: for each learner, by name, the position of its letter in the alphabet, from 0.
        """
        free = itertools.count(max(letters.values(), default=-1) + 1)
        self.letters = [letters.get(str(learner["name"]), -1) for learner in self.learners]
        self.letters = [next(free) if letter < 0 else letter for letter in self.letters]
        self.next_letter = next(free)

    @property
    def running_letters(self) -> dict[str, int]:
        """For each active learner, by name, the position of its letter in the alphabet."""
        running = (place for place in range(len(self.learners)) if place not in self.off)
        return {str(self.learners[place]["name"]): self.letters[place] for place in running}

    @property
    def kind_places(self) -> dict[str, KindPlace]:
        """For each active learner, by name, its kind and its position among learners of this kind.

        Learners that are drawn only for comparison are left out.
        """
        learners = [learner for learner in self.experiment.learners if learner.role == "learner"]
        places = kind_places([learner.learner_kind for learner in learners])
        return {learner.name: place for learner, place in zip(learners, places, strict=True)}

    def _accept_experiment(self, experiment: Experiment, raw: Raw, claims: Fitting) -> None:
        """Make a valid experiment the current state, with the texts that `_texts_of_experiment` returns.

        Args:
            claims: which claims fit the experiment.
        """
        texts = self._texts_of_experiment(experiment, documents.in_full(raw, experiment))
        raw = {**raw, **texts}
        if any(map(has_braces, texts.values())):
            self.experiment = documents.first(raw)
        else:
            self.experiment = msgspec.structs.replace(experiment, **texts)
        self.document = documents.in_full(raw, self.experiment)
        self.error: BadInput | None = None
        self._claims = claims
        self.last = float(experiment.protocol.extent(experiment.n).last)
        """x at which a run ends."""
        self.raw: Raw = copy.deepcopy(self.document)
        for place in sorted(self.off):
            self.learners.insert(place, self.off[place])
        for place, (claim, _) in sorted(claims.left_out.items()):
            self.raw["claims"].insert(place, claim)

    def sweep(self) -> Sweep:
        """Return the experiment at all sweep points, without claims that do not fit.

        If the experiment differs from its preset, the preset's claims are not judged.

        Raises: BadInput if the experiment cannot run at a sweep point.
        """
        if not self.document.get("axes"):
            return self._with_unjudged(only(self.experiment))
        try:
            sweep, raw, claims = fitting_claims(self._document_to_run(), documents.sweep_of)
        except BadInput as error:
            self._store_error(error)
            raise
        self._accept_experiment(sweep.experiment, raw, claims)
        return self._with_unjudged(sweep)

    @property
    def idle_axes(self) -> tuple[str, ...]:
        """Sentences about sweep axes that change no run; none if the experiment is invalid."""
        axes = self.document["axes"]
        parts = [self.document[part] for part in ("problem", "protocol", "run", "learners")]
        if self.error is not None or all(axis.get("set") or _mentions(parts, axis["name"]) for axis in axes):
            return ()  # without a look at all sweep points, because this is asked after each typed character
        try:
            return self.sweep().idle_axes
        except BadInput:
            return ()

    def _with_unjudged(self, sweep: Sweep) -> Sweep:
        reasons = unjudged(sweep, self.document, self._origin_document, self._origin)
        return replace(sweep, unjudged=reasons)

    @property
    def left_out(self) -> dict[int, LeftOutClaim]:
        return self._claims.left_out

    @property
    def claims_left_out(self) -> dict[int, dict[str, Any]]:
        return {place: omission.claim for place, omission in self.left_out.items()}

    @property
    def changed(self) -> bool:
        """Whether the experiment differs from its preset, or is invalid."""
        return self.error is not None or self.document != self._origin_document

    @property
    def learners(self) -> list[dict[str, Any]]:
        learners: list[dict[str, Any]] = self.raw["learners"]
        return learners

    def value(self, place: str) -> Any:
        """Return the value at a place such as `learners[0].update.lr`, as the user typed it.

        If the place does not exist, return None.
        """
        return reading.value_at(place, self.raw)

    def number(self, place: str) -> Any:
        """Return the number, or list of numbers, that an expression at `place` gives.

        For example, the expression 1/d gives 1/8 if d = 8. Return None if there is no expression at `place`,
        or if the experiment is invalid.
        """
        value = self.value(place)
        if self.error is not None or not any(isinstance(element, str) for element in _as_sequence(value)):
            return None
        try:
            number = reading.value_at(self._path_in_experiment(place), msgspec.to_builtins(self.experiment))
        except KeyError:
            return None
        return number if any(isinstance(element, int | float) for element in _as_sequence(number)) else None

    def sweep_axis(self, place: str) -> int | None:
        """Return the index of the sweep axis that varies the value at `place`, or None if no axis does."""
        places = [axis.get("set") for axis in self.raw["axes"]]
        return places.index(place) if place in places else None

    def _remove_sweep_axis(self, axis: int) -> None:
        """Remove a sweep axis.

        If the user added the axis by the key for sweeps, restore the pictures and claims of the preset.
        """
        by_one_key = self.raw["axes"][axis]["name"] == changes.AXIS and not self._origin_document["axes"]
        self._names.forget()
        document_edits.remove_axis(self.raw, axis, self.experiment.protocol.clock)
        if by_one_key:
            for part in ("pictures", "claims"):
                self.raw[part] = copy.deepcopy(self._origin_document[part])

    def read_files(self, place: str, value: Any) -> None:
        """Read the data files that `put(place, value)` would need, so that `put` is fast afterwards.

        This may take seconds, and does not change the set-up.
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
        """Set the value at a place of the document, such as `learners[0].update.lr`.

        A new name also replaces the old name in all references. A sweep over this value is removed, because
        its values would replace the new value.
        """
        if self.value(place) == value:
            return
        if (axis := self.sweep_axis(place)) is not None:
            self._remove_sweep_axis(axis)
        self._names.follow(self.raw, place, value)
        reading.put(self.raw, place, value)
        self._check_document()

    def put_kind(self, place: str, kind: str | None) -> None:
        """Replace the part at `place` by a part of another kind, keeping hyperparameters that both share.

        Args:
            kind: the new kind, or None to remove the part. UNTAGGED is the kind of a part whose family has
                only one kind; a preset document does not name this kind.
        """
        if kind is None or kind == UNTAGGED:
            self.put(place, None if kind is None else {})
        elif self.value(place) is None:
            self.put(place, {"kind": kind})
        else:
            self.put(f"{place}.kind", kind)

    def put_method(self, learner_number: int, kind: str) -> None:
        """Make a learner a least-squares solver if `kind` is "solver", or else a linear neuron with GD."""
        changed = self.learners[learner_number]
        if kind == "solver":
            changed |= {"architecture": None, "update": None, "solver": {"kind": "lls"}}
        else:
            changed |= {"architecture": {"kind": "linear"}, "update": {"kind": "gd"}, "solver": None}
        self._check_document()

    def add_learner(self, learner_number: int) -> int:
        parts = {"architecture": {"kind": "linear"}, "update": {"kind": "gd"}, "solver": None}
        return self._insert_learner(learner_number + 1, {"name": self._free_name("GD"), **parts})

    def copy_learner(self, learner_number: int) -> int:
        twin = copy.deepcopy(self.learners[learner_number])
        return self._insert_learner(learner_number + 1, twin | {"name": self._free_name(twin["name"])})

    def _free_name(self, wanted: str) -> str:
        """Return `wanted`, with a number if a learner already has this name.

        If "GD" and "GD 2" exist, the result for "GD 2" is "GD 3" and not "GD 2 2".
        """
        names = {learner["name"] for learner in self.learners}
        if (numbered_name := re.fullmatch(r"(.+) \d+", wanted)) and numbered_name[1] in names:
            wanted = numbered_name[1]
        numbered = (f"{wanted} {number}" for number in itertools.count(2))
        return next(free_name for free_name in itertools.chain((wanted,), numbered) if free_name not in names)

    def _insert_learner(self, place: int, values: dict[str, Any]) -> int:
        self._names.forget()
        self.learners.insert(place, values)
        self.letters.insert(place, self.next_letter)
        self.next_letter += 1
        self.off = {other + (other >= place): learner for other, learner in self.off.items()}
        self._check_document()
        return place

    def remove_learner(self, learner_number: int) -> int:
        """Remove a learner, unless it is the last active one. Return the number of the learner to select."""
        if learner_number in self.off or len(self.learners) - len(self.off) > 1:
            self._names.forget()
            del self.learners[learner_number], self.letters[learner_number]
            self.off.pop(learner_number, None)
            self.off = {other - (other > learner_number): learner for other, learner in self.off.items()}
            self._check_document()
        return min(learner_number, len(self.learners) - 1)

    def switch_learner(self, learner_number: int) -> bool:
        """Switch a learner on or off, and return True. The last active learner stays on: return False."""
        if learner_number in self.off:
            del self.off[learner_number]
        elif len(self.learners) - len(self.off) > 1:
            self.off[learner_number] = self.learners[learner_number]
        else:
            return False
        self._check_document()
        return True

    def place_in_run(self, learner_number: int) -> int | None:
        """Return the learner's index among the active learners, or None if the learner is switched off."""
        return (
            None
            if learner_number in self.off
            else learner_number - sum(place < learner_number for place in self.off)
        )

    def refused(self, learner_number: int) -> bool:
        where = "" if self.error is None else self.error.where
        return where == f"learners[{learner_number}]" or where.startswith(f"learners[{learner_number}].")

    def add(self, part: str) -> int:
        """Add an axis, a picture or a claim to the document, and return its position.

        `part` is the name of the list: "axes", "pictures" or "claims".
        """
        self._names.forget()
        match part:
            case "axes":
                document_edits.add_axis(self.raw)
            case "pictures":
                document_edits.add_picture(self.raw, self.experiment.protocol.clock)
            case _:
                document_edits.add_claim(self.raw, self.experiment)
        self._check_document()
        return len(self.raw[part]) - 1

    def remove(self, part: str, number: int) -> None:
        self._names.forget()
        match part:
            case "axes":
                document_edits.remove_axis(self.raw, number, self.experiment.protocol.clock)
            case "pictures":
                document_edits.remove_picture(self.raw, number)
            case _:
                del self.raw[part][number]
        self._check_document()

    def give_axis_by(self, number: int, kind: str) -> None:
        document_edits.give_axis_by(self.raw, number, kind)
        self._check_document()

    def _document_to_run(self) -> Raw:
        """Return the document to run: with all claims, but without switched-off learners."""
        running = [learner for place, learner in enumerate(self.learners) if place not in self.off]
        return {**self.raw, "learners": running}

    def _check_document(self) -> None:
        self.off = {place: self.learners[place] for place in self.off}  # their values may have changed
        try:
            experiment, raw, claims = fitting_claims(self._document_to_run(), documents.first)
            self._accept_experiment(experiment, raw, claims)
        except BadInput as error:
            self._store_error(error)

    def _store_error(self, error: BadInput) -> None:
        where = self._path_in_raw(error.where)
        self.error = BadInput(self._names.blamed(self.raw, where), error.fault)

    def _path_in_raw(self, where: str) -> str:
        """Convert a path in the experiment, such as learners[0].name, to a path in `raw`.

        The indices of learners differ, because only `raw` contains the switched-off learners.
        """
        prefix = re.match(r"learners\[(\d+)\]", where)
        if prefix is None:
            return where
        running = [place for place in range(len(self.learners)) if place not in self.off]
        return f"learners[{running[int(prefix.group(1))]}]{where[prefix.end() :]}"

    def _path_in_experiment(self, place: str) -> str:
        """Convert a path in `raw`, such as learners[1].name, to a path in the experiment.

        Raises: KeyError if the path is in a switched-off learner, or in a claim that is left out.
        """
        prefix = re.match(r"(learners|claims)\[(\d+)\]", place)
        if prefix is None:
            return place
        part, number = prefix[1], int(prefix[2])
        if part == "claims":
            number_in_run = self._claims.numbers.index(number) if number in self._claims.numbers else None
        else:
            number_in_run = self.place_in_run(number)
        if number_in_run is None:
            raise KeyError(place)
        return f"{part}[{number_in_run}]{place[prefix.end() :]}"

    def _texts_of_experiment(self, experiment: Experiment, document: Raw) -> dict[str, str]:
        """Return the title, story and source of the experiment.

        If the user has changed the experiment of the preset, the title states the changes, and story and
        source are empty.
        """
        origin = self._origin
        origin_title = presets.name_of(self.preset) if self.preset else origin.title or "Your own experiment"
        return texts_of_changed(origin_title, experiment, document, origin, self._origin_document)


def _document_of(preset: str | None) -> Raw | None:
    try:
        return None if preset is None else presets.document(preset)
    except BadInput:
        return None


def _mentions(field: Any, name: str) -> bool:
    """Return whether an expression in `field` may use a name. Conditions `where` are not searched."""
    if isinstance(field, str):
        return re.search(rf"\b{re.escape(name)}\b", field) is not None
    if isinstance(field, dict):
        return any(_mentions(inner, name) for key, inner in field.items() if key != "where")
    return isinstance(field, list | tuple) and any(_mentions(inner, name) for inner in field)


def _as_sequence(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else [value]


POINTS, MOST_TRIED = 5, 12
"""Number of values of a new sweep, and number of candidate values on each side of the current one."""


def swept(editable: EditableExperiment, place: str, is_whole: bool, symbol: str) -> EditableExperiment:
    """Return a copy of an experiment that sweeps the number at `place`, with pictures of the sweep.

    The sweep has values near the number (see `_numbers_around`). It leaves out values at which the experiment
    cannot run. The copy has no claims, because the claims of the original are about a single value of the
    number.

    Args:
        is_whole: whether the number must be whole.
        symbol: symbol of the number in titles and labels.

    Raises: BadInput if the place has no number, if there is already a sweep axis, or if no other number is
        valid.
    """
    raw, current = editable.raw, editable.value(place)
    if raw["axes"]:
        raise BadInput(place, "The set-up already has a sweep axis: change its values, or remove it first.")
    if isinstance(current, bool) or not isinstance(current, int | float | str) or current == "":
        raise BadInput(place, "There is no number to sweep here.")
    document = copy.deepcopy(raw)
    axis: Raw = {"name": changes.AXIS, "symbol": symbol, "log": True}
    if isinstance(current, str):
        axis |= {"values": [2.0**power for power in range(-2, 3)], "symbol": f"factor of {symbol}"}
        reading.put(document, place, f"{changes.AXIS}*({current})")
    else:
        numbers = sorted({current, *islice(_fitting_numbers(editable, place, current, is_whole), POINTS - 1)})
        if len(numbers) < 2:
            raise BadInput(place, f"No other value of {symbol} fits the set-up.")
        axis |= {"values": numbers, "set": place, "log": numbers[0] > 0}
    document = changes.with_axis(document, editable.experiment, axis)
    sweep = EditableExperiment(document, editable.preset, editable.off)
    sweep.letters, sweep.next_letter = list(editable.letters), editable.next_letter
    return sweep


def _fitting_numbers(
    editable: EditableExperiment, place: str, start: float, is_whole: bool
) -> Iterator[float]:
    """Yield numbers near `start`, the nearest first, with which the experiment can run.

    The set-up must be valid with the number at `place`.
    """
    for candidate in islice(_numbers_around(start, is_whole), 2 * MOST_TRIED):
        trial = editable.copied()
        trial.put(place, candidate)
        if trial.error is None:
            yield candidate


def _numbers_around(start: float, is_whole: bool) -> Iterator[float]:
    """Yield numbers above and below `start` in turn, the nearest first.

    The numbers are `start` times powers of two. If `is_whole` and `start` is between −4 and 4, they are
    `start` ± 1, ± 2 and so on. If `start` is 0 but need not be whole, they are multiples of 1/4.
    """
    by_ones = start == 0 or (is_whole and abs(start) < 4)
    for distance in count(1):
        for sign in (1, -1):
            if by_ones:
                number = start + sign * (distance if is_whole else distance / 4)
            else:
                number = start * 2.0 ** (sign * distance)
            if not is_whole:
                yield number
            elif number == int(number):
                yield int(number)
