"""A place in the set-up as people call it: "rate η of A (GD)", not "learners[0].update.lr"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from engine.spec.fields import fields_of
from hadamard_tui.charts.series_builder import mark

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment

ONE_OF = {"axes": "axis", "learners": "learner", "pictures": "picture", "claims": "claim"}


def in_words(editable: EditableExperiment, place: str) -> str:
    """What stands at a place, and whose it is; of axes at which of their points, as the place says."""
    place, where, point = place.partition(" where ")
    *owners, leaf = place.split(".")
    if not owners:
        return _item(editable, leaf) + where + point
    title = _titles(editable.experiment, owners).get(leaf, leaf)
    owner = owners[0] if owners[0].startswith("learners[") else owners[-1]
    return f"{title} of {_item(editable, owner)}{where}{point}"


def _item(editable: EditableExperiment, name: str) -> str:
    """A learner by its letter and name, another item of a list by its number, and else the name."""
    found = re.fullmatch(r"(\w+)\[(\d+)\]", name)
    if found is None:
        return f"the {name}"
    number = int(found[2])
    if found[1] == "learners" and number < len(editable.learners):
        return f"{mark(editable.letters[number])} ({editable.learners[number]['name']})"
    return f"{ONE_OF.get(found[1], found[1])} {number + 1}"


def _titles(experiment: Any, owners: list[str]) -> dict[str, str]:
    """The titles of the fields of what stands at a place, by their names; none where that is not known."""
    owned = experiment
    for owner in owners:
        name, _, number = owner.rstrip("]").partition("[")
        owned = getattr(owned, name, None)
        if number:
            owned = owned[int(number)] if owned is not None and int(number) < len(owned) else None
    return (
        {one.name: one.title for one in fields_of(type(owned))} if isinstance(owned, msgspec.Struct) else {}
    )
