"""Names of learners, axes and pictures while they are typed: what refers to them follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from engine.spec import reading, renaming
from engine.spec.axis import AxisName
from engine.spec.documents import TAKEN

if TYPE_CHECKING:
    from engine.spec.reading import Raw

RENAME = {
    "learners": renaming.rename_learner,
    "axes": renaming.rename_axis,
    "pictures": renaming.rename_picture,
}


class Names:
    """Renames what refers to something, once its new name can be one.

    A name that is being typed may be empty on the way, or that of something else: until it can be one, what
    refers to it keeps the former name.
    """

    def __init__(self) -> None:
        self._former: dict[str, str] = {}
        self._last = ""

    def forget(self) -> None:
        """Called when places change."""
        self._former.clear()
        self._last = ""

    def blamed(self, raw: Raw, place: str) -> str:
        """The place of a refused name, or of the same one that was put there last: others had it before."""
        refused, where, point = place.partition(" where ")
        part = refused.partition("[")[0]
        named = refused.endswith("].name") and self._last.startswith(f"{part}[")
        same = named and reading.value_at(refused, raw) == reading.value_at(self._last, raw)
        return self._last + where + point if same else place

    def follow(self, raw: Raw, place: str, new: Any) -> None:
        """Let references follow a name that is going to be put at a place, if it is the name of something."""
        match = re.fullmatch(r"(learners|axes|pictures)\[(\d+)\]\.name", place)
        if match is None:
            return
        part, number = match[1], int(match[2])
        self._last = place
        name = self._former.pop(place, raw[part][number].get("name"))
        if not name:
            return
        other_names = [
            item.get("name") for other_number, item in enumerate(raw[part]) if other_number != number
        ]
        if new in other_names or not _can_be_name(part, new):
            self._former[place] = name
        else:
            RENAME[part](raw, name, new)


def _can_be_name(part: str, name: Any) -> bool:
    if part != "axes":
        return isinstance(name, str) and bool(name)
    try:
        return msgspec.convert(name, AxisName) not in TAKEN
    except msgspec.ValidationError:
        return False
