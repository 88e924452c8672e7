"""Rename references to learners, axes and pictures while a name is typed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from engine.spec import changes, reading
from engine.spec.axis import AxisName
from engine.spec.documents import TAKEN

if TYPE_CHECKING:
    from engine.spec.reading import Raw

RENAME = {
    "learners": changes.rename_learner,
    "axes": changes.rename_axis,
    "pictures": changes.rename_picture,
}


class Names:
    """Renames references once the new name is valid.

    A name that is being typed may be empty or equal to another name for a moment. Until it is valid,
    references keep the former name.
    """

    def __init__(self) -> None:
        self._former: dict[str, str] = {}
        self._last = ""

    def forget(self) -> None:
        """Forget former names, because the places changed."""
        self._former.clear()
        self._last = ""

    def blamed(self, raw: Raw, place: str) -> str:
        """Return the place to blame for a refused name: of two equal names the one that was typed last."""
        refused, where, point = place.partition(" where ")
        part = refused.partition("[")[0]
        named = refused.endswith("].name") and self._last.startswith(f"{part}[")
        same = named and reading.value_at(refused, raw) == reading.value_at(self._last, raw)
        return self._last + where + point if same else place

    def follow(self, raw: Raw, place: str, new: Any) -> None:
        """Rename the references to a name that is about to be put at a place."""
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
