"""A place in the set-up as people call it: "rate η of A (GD)", not "learners[0].update.lr"."""

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
    """What stands at a place, and whose it is; of axes at which of their points, as the place says."""
    place, where, point = place.partition(" where ")
    *owners, leaf = place.split(".")
    if not owners:
        return _item(editable, leaf) + where + point
    title = title_of(editable.experiment, owners, leaf)
    owner = owners[0] if owners[0].startswith("learners[") else owners[-1]
    return f"{title} of {_item(editable, owner)}{where}{point}"


def _item(editable: EditableExperiment, name: str) -> str:
    """A learner by its letter and name, another item of a list by its number, and else the name."""
    match = re.fullmatch(r"(\w+)\[(\d+)\]", name)
    if match is None:
        return f"the {name}"
    number = int(match[2])
    if match[1] == "learners" and number < len(editable.learners):
        return f"{mark(editable.letters[number])} ({editable.learners[number]['name']})"
    return f"{ONE_OF.get(match[1], match[1])} {number + 1}"


def title_of(experiment: Any, owners: Sequence[str], leaf: str) -> str:
    """The title of a field of the part at a place; its name where that is not known.

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
