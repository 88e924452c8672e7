"""What the set-up was before its changes, to take them back and to make them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.core.texts import cut
from engine.spec.presets import name_of
from hadamard_tui.editing.differences import between

if TYPE_CHECKING:
    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment

MOST = 200
"""Changes that can be taken back, each a copy of the set-up."""

MOST_SHOWN = 2
"""Differences that are shown of one change; a name that changes may change in many places."""

ITEMS = {"axes": "axis ", "learners": "", "pictures": "picture ", "claims": "claim "}
"""The lists of a document, and what is said before the name of one of their items."""

WORDS = ("title", "story", "source", "subject")
"""What follows from the rest of a set-up that is no preset."""


class Step(NamedTuple):
    """The set-up one change before or after, and what the change is, in words."""

    editable: EditableExperiment
    change: str


class History:
    """The states of a set-up, and which of them it has now."""

    def __init__(self, editable: EditableExperiment) -> None:
        self._states = [editable.copied()]
        self._now = 0
        self._typed: str | None = None

    def record(self, editable: EditableExperiment, typed: str | None = None) -> None:
        """Note that the set-up is in this state now, which ends what could be made again.

        What is `typed` letter by letter at one place is one change.
        """
        if _same(editable, self._states[self._now]):
            return
        goes_on = typed is not None and typed == self._typed
        del self._states[self._now if goes_on else self._now + 1 :]
        if goes_on and _same(editable, self._states[-1]):  # what was typed is taken back by typing
            typed = None
        else:
            self._states.append(editable.copied())
        del self._states[: -MOST - 1]
        self._now, self._typed = len(self._states) - 1, typed

    def amend(self, editable: EditableExperiment) -> None:
        """The set-up is called otherwise now, which is no change of it."""
        self._states[self._now] = editable.copied()

    def pause(self) -> None:
        """What is typed from now on is another change."""
        self._typed = None

    def undo(self) -> Step | None:
        """The state before the last change; None where nothing was changed."""
        return self._step(-1) if self._now else None

    def redo(self) -> Step | None:
        """The state after the change that was taken back last; None where none was."""
        return self._step(1) if self._now + 1 < len(self._states) else None

    def _step(self, by: int) -> Step:
        self.pause()
        self._now += by
        before, after = sorted((self._now - by, self._now))
        return Step(self._states[self._now].copied(), described(self._states[before], self._states[after]))


def described(before: EditableExperiment, after: EditableExperiment) -> str:
    """What was changed, in words."""
    if before.preset != after.preset:
        return " → ".join(
            name_of(editable.preset) if editable.preset else "your own set-up" for editable in (before, after)
        )
    changes = list(_changes(before, after))
    more = f" and {len(changes) - MOST_SHOWN} more" if len(changes) > MOST_SHOWN else ""
    return ", ".join(changes[:MOST_SHOWN]) + more


def _changes(before: EditableExperiment, after: EditableExperiment) -> Iterator[str]:
    old, new = before.raw, after.raw
    for part in ITEMS:
        yield from _of_items(part, old[part], new[part])
    for part in dict.fromkeys([*old, *new]):
        if part not in (*ITEMS, *WORDS):
            yield from map(str, between(old.get(part), new.get(part), "" if part == "problem" else part))
    if len(old["learners"]) == len(new["learners"]):
        for place in sorted(before.off.keys() ^ after.off.keys()):
            yield f"{new['learners'][place]['name']} {'off' if place in after.off else 'on'}"


def _of_items(part: str, old: list[Raw], new: list[Raw]) -> Iterator[str]:
    """The changes of a list, one of whose items may have gone or come."""
    if len(old) == len(new):
        for number, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from (f"{_name(part, number, was)}: {change}" for change in between(was, now, ""))
        return
    fewer, more = sorted((old, new), key=len)
    alike = (number for number, pair in enumerate(zip(fewer, more, strict=False)) if pair[0] != pair[1])
    first = next(alike, len(fewer))
    for number in range(first, first + len(more) - len(fewer)):
        yield f"{_name(part, number, more[number])} {'added' if more is new else 'removed'}"


def _name(part: str, number: int, item: Raw) -> str:
    from engine.learners.learner import MOST_NAME

    named = item.get("text") or item.get("name") or item.get("title") or number + 1
    return f"{ITEMS[part]}{cut(str(named), MOST_NAME)}"


def _same(editable: EditableExperiment, other: EditableExperiment) -> bool:
    return (editable.raw, editable.off.keys(), editable.preset) == (other.raw, other.off.keys(), other.preset)


def shape(value: Any) -> Any:
    """What of a document decides which fields its form has."""
    if isinstance(value, dict):
        shapes = {key: item if key == "kind" else shape(item) for key, item in value.items()}
        return {key: item_shape for key, item_shape in shapes.items() if item_shape is not None}
    if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        return [shape(item) for item in value]
    return None
