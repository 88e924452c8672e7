"""What differs between two experiments, in words: update.lr 1/(2d) → 0.0078."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.spec.reading import Raw

Said = list[str]


def differences(before: Raw, after: Raw) -> Said:
    """One entry per value that is written differently in two documents that say everything.

    Titles, stories and claims are words about it.
    """
    found, before = _axes_renamed(before, after)
    for part in ("problem", "protocol", "run"):
        found += between(before[part], after[part], "")
    found += _of_axes(before["axes"], after["axes"])
    old, new = ({one["name"]: one for one in raw["learners"]} for raw in (before, after))
    renamed = _renamed(old, new)
    for name, learner in new.items():
        was = old.get(renamed.get(name, name))
        if was is None:
            found.append(f"with {name}")
            continue
        if was["name"] != name:
            found.append(f"{was['name']} is called {name}")
        changed = between(_plain(was), _plain(learner), "")
        found += [f"{name} {one}" if len(new) > 1 else one for one in changed]
    gone = [name for name in old if name not in new and name not in renamed.values()]
    return found + [f"without {name}" for name in gone]


def _axes_renamed(before: Raw, after: Raw) -> tuple[Said, Raw]:
    """Which axes have other names only, and the earlier document with these."""
    from engine.spec.renaming import rename_axis

    old, new = ({axis["name"]: axis for axis in raw["axes"]} for raw in (before, after))
    renamed = _renamed(old, new)
    for name, was in renamed.items():
        before = copy.deepcopy(before)
        rename_axis(before, was, name)
        next(axis for axis in before["axes"] if axis["name"] == was)["name"] = name
    return [f"{was} is called {name}" for name, was in renamed.items()], before


def _of_axes(before: list[Raw], after: list[Raw]) -> Said:
    """The axes that there are in one of two documents only, and those with other values."""
    old, new = ({axis["name"]: _plain(axis) for axis in axes} for axes in (before, after))
    found = [f"along {name}" for name in new if name not in old]
    for name, axis in new.items():
        found += between(old.get(name, axis), axis, name)
    return found + [f"not along {name}" for name in old if name not in new]


def _renamed(old: dict[str, Raw], new: dict[str, Raw]) -> dict[str, str]:
    """New names of what is otherwise as it was, with the old ones."""
    before = [one for name, one in old.items() if name not in new]
    after = [one for name, one in new.items() if name not in old]
    return {one["name"]: was["name"] for one in after for was in before if _plain(one) == _plain(was)}


def _plain(learner: Raw) -> Raw:
    return {key: value for key, value in learner.items() if key != "name"}


def between(before: Any, after: Any, place: str) -> Said:
    """The entries for two values at a place, put before them. Parts of different kinds differ as a whole."""
    if before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        if before.get("kind") != after.get("kind"):
            return [f"{place} {before['kind']} → {after['kind']}"]
        found: Said = []
        for key in dict.fromkeys([*before, *after]):
            found += between(before.get(key), after.get(key), f"{place}.{key}" if place else key)
        return found
    return [f"{place} {_said(before)} → {_said(after)}"]


def _said(value: Any) -> str:
    match value:
        case None:
            return "none"
        case True:
            return "yes"
        case False:
            return "no"
        case float():
            return f"{value:.4g}"
        case dict():
            return str(value.get("kind") or (", ".join(f"{k} {v}" for k, v in value.items()) or "none"))
        case list():
            return "[" + ", ".join(map(_said, value)) + "]"
    return str(value)
