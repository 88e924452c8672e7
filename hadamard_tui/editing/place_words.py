"""Places of the set-up in words: "rate η of A (GD)", not "learners[0].update.lr"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from engine.spec.fields import fields_of
from hadamard_tui.charts.series_builder import mark

if TYPE_CHECKING:
    from hadamard_tui.editing.editable_experiment import EditableExperiment

ONE_OF = {"axes": "axis", "learners": "learner", "pictures": "picture", "claims": "claim"}


def in_words(editable: EditableExperiment, place: str) -> str:
    """Return the name of the value at a place and its owner; for axes also the point that the place names."""
    place, where, point = place.partition(" where ")
    *owners, leaf = place.split(".")
    if not owners:
        return _item(editable, leaf) + where + point
    title = title_of(editable.experiment, owners, leaf)
    owner = owners[0] if owners[0].startswith("learners[") else owners[-1]
    return f"{title} of {_item(editable, owner)}{where}{point}"


def _item(editable: EditableExperiment, name: str) -> str:
    """Return a learner's letter and name, another item's number in its list, or the name as it is."""
    match = re.fullmatch(r"(\w+)\[(\d+)\]", name)
    if match is None:
        return f"the {name}"
    number = int(match[2])
    if match[1] == "learners" and number < len(editable.learners):
        return f"{mark(editable.letters[number])} ({editable.learners[number]['name']})"
    return f"{ONE_OF.get(match[1], match[1])} {number + 1}"


def title_of(experiment: Any, owners: Sequence[str], leaf: str) -> str:
    """Return the title of a field of the part at a place, or its name if it has no title.

    Args:
        owners: the path to the part, with the numbers of items: "learners[0]", "update".
    """
    owned = experiment
    for owner in owners:
        name, _, number = owner.rstrip("]").partition("[")
        owned = getattr(owned, name, None)
        if number:
            owned = owned[int(number)] if owned is not None and int(number) < len(owned) else None
    fields = fields_of(type(owned)) if isinstance(owned, msgspec.Struct) else ()
    return next((field.title for field in fields if field.name == leaf), leaf)
