"""Undo and redo of changes of the set-up, and phrases for these changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from engine.core.texts import cut
from engine.spec.differences import between
from engine.spec.fields import fields_of
from engine.spec.presets import name_of
from hadamard_tui.charts.plots.series_builder import mark

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment


ONE_OF = {"axes": "axis", "learners": "learner", "pictures": "picture", "claims": "claim"}


def place_in_words(editable: EditableExperiment, place: str) -> str:
    """Return a phrase for a place in the set-up, such as "rate η of A (GD)".

    A sweep point at the end of `place`, such as " where a = 2", is copied to the end of the phrase.
    """
    place, where, point = place.partition(" where ")
    *owners, leaf = place.split(".")
    if not owners:
        return _part_phrase(editable, leaf) + where + point
    title = title_of_place(editable.experiment, owners, leaf)
    owner = owners[0] if owners[0].startswith("learners[") else owners[-1]
    return f"{title} of {_part_phrase(editable, owner)}{where}{point}"


def _part_phrase(editable: EditableExperiment, item_name: str) -> str:
    """Return a phrase for a part of the set-up, such as "A (GD)" for "learners[0]".

    A part that is not in a list gets its own name, as in "the update" for "update".
    """
    match = re.fullmatch(r"(\w+)\[(\d+)\]", item_name)
    if match is None:
        return f"the {item_name}"
    number = int(match[2])
    if match[1] == "learners" and number < len(editable.learners):
        return f"{mark(editable.letters[number])} ({editable.learners[number]['name']})"
    return f"{ONE_OF.get(match[1], match[1])} {number + 1}"


def title_of_place(experiment: Any, owners: Sequence[str], leaf: str) -> str:
    """Return the title of a field, or the field's name if it has no title.

    Args:
        owners: path to the part that has the field, such as "learners[0]", "update".
        leaf: name of the field.
    """
    owned = experiment
    for owner in owners:
        list_name, _, number = owner.rstrip("]").partition("[")
        owned = getattr(owned, list_name, None)
        if number:
            owned = owned[int(number)] if owned is not None and int(number) < len(owned) else None
    fields = fields_of(type(owned)) if isinstance(owned, msgspec.Struct) else ()
    return next((field.title for field in fields if field.name == leaf), leaf)


MOST = 200
"""Maximum number of changes that can be undone; each of them needs a copy of the set-up in memory."""

MOST_SHOWN = 2
"""Maximum number of differences in the description of a change. A changed name may occur in many places."""

ITEMS = {"axes": "axis ", "learners": "", "pictures": "picture ", "claims": "claim "}
"""Word before the name of an item, by the list of the document that contains the item."""

WORDS = ("title", "story", "source", "subject", "reason")
"""Fields with texts that describe the set-up; they change whenever the set-up changes."""


class Step(NamedTuple):
    """Result of undo or redo: the restored set-up, and a description of the change."""

    editable: EditableExperiment
    change: str


class History:
    """States of a set-up for undo and redo, and the position of the current state among them."""

    def __init__(self, editable: EditableExperiment) -> None:
        self._states = [editable.copied()]
        self._now = 0
        self._first = 0
        """Position of the earliest state to which `undo` goes back."""
        self._typed: str | None = None

    def record(self, editable: EditableExperiment, typed: str | None = None) -> None:
        """Record a new state, and drop the states that could be redone.

        Args:
            typed: place at which the user is typing; None for other changes. Successive changes at one place
                are recorded as a single change.
        """
        if _are_same_setup(editable, self._states[self._now]):
            return
        goes_on = typed is not None and typed == self._typed
        del self._states[self._now if goes_on else self._now + 1 :]
        if goes_on and _are_same_setup(
            editable, self._states[-1]
        ):  # the user has typed the original text again
            typed = None
        else:
            self._states.append(editable.copied())
        dropped = max(0, len(self._states) - MOST - 1)
        del self._states[:dropped]
        self._first = max(0, self._first - dropped)
        self._now, self._typed = len(self._states) - 1, typed

    def amend(self, editable: EditableExperiment) -> None:
        self._states[self._now] = editable.copied()

    def pause(self) -> None:
        self._typed = None

    def limit(self, is_limited: bool) -> None:
        """Limit `undo` to changes after the current state, or remove this limit."""
        self._first = self._now if is_limited else 0

    @property
    def is_limited(self) -> bool:
        return self._first > 0

    def undo(self) -> Step | None:
        return self._move_by(-1) if self._now > self._first else None

    def redo(self) -> Step | None:
        return self._move_by(1) if self._now + 1 < len(self._states) else None

    def _move_by(self, by: int) -> Step:
        self.pause()
        before = self._states[self._now]
        self._now += by
        after = self._states[self._now]
        return Step(after.copied(), described(before, after))


def described(before: EditableExperiment, after: EditableExperiment) -> str:
    """Return a description of the change between two states, such as "GD: update.lr 0.1 → 0.2"."""
    if before.preset != after.preset:
        return " → ".join(
            name_of(editable.preset) if editable.preset else "your own set-up" for editable in (before, after)
        )
    changes = list(_setup_changes(before, after)) or list(_changes_of_views(before.raw, after.raw))
    more = f" and {len(changes) - MOST_SHOWN} more" if len(changes) > MOST_SHOWN else ""
    return ", ".join(changes[:MOST_SHOWN]) + more


def _setup_changes(before: EditableExperiment, after: EditableExperiment) -> Iterator[str]:
    old, new = before.raw, after.raw
    for part in ("axes", "learners"):
        yield from _item_changes(part, old[part], new[part])
    for part in dict.fromkeys([*old, *new]):
        if part not in (*ITEMS, *WORDS):
            yield from map(str, between(old.get(part), new.get(part), "" if part == "problem" else part))
    if len(old["learners"]) == len(new["learners"]):
        for place in sorted(before.off.keys() ^ after.off.keys()):
            yield f"{new['learners'][place]['name']} {'off' if place in after.off else 'on'}"


def _changes_of_views(old: Raw, new: Raw) -> Iterator[str]:
    """Yield changes of pictures and claims. They are described only if nothing else has changed."""
    for part in ("pictures", "claims"):
        yield from _item_changes(part, old[part], new[part])


def _item_changes(part: str, old: list[Raw], new: list[Raw]) -> Iterator[str]:
    if len(old) == len(new):
        for number, (was, now) in enumerate(zip(old, new, strict=True)):
            changes = between(was, now, "")
            without_name = [change for change in changes if change.place != "name"]
            item_name = _item_name(part, number, now if without_name else was)
            yield from (f"{item_name}: {change}" for change in without_name or changes)
        return
    fewer, more = sorted((old, new), key=len)
    alike = (number for number, pair in enumerate(zip(fewer, more, strict=False)) if pair[0] != pair[1])
    first = next(alike, len(fewer))
    for number in range(first, first + len(more) - len(fewer)):
        yield f"{_item_name(part, number, more[number])} {'added' if more is new else 'removed'}"


def _item_name(part: str, number: int, item: Raw) -> str:
    from engine.learners.learner import MOST_NAME

    named = item.get("text") or item.get("name") or item.get("title") or number + 1
    return f"{ITEMS[part]}{cut(str(named), MOST_NAME)}"


def _are_same_setup(editable: EditableExperiment, other: EditableExperiment) -> bool:
    return (editable.raw, editable.off.keys(), editable.preset) == (other.raw, other.off.keys(), other.preset)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        shapes = {key: item if key == "kind" else shape(item) for key, item in value.items()}
        return {key: item_shape for key, item_shape in shapes.items() if item_shape is not None}
    if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        return [shape(item) for item in value]
    return None
