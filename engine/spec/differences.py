"""Differences between two experiments, such as "update.lr 1/(2d) → 0.0078", and texts of a changed preset."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.core.expressions import plain

if TYPE_CHECKING:
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw


class SetupDifference(NamedTuple):
    """Difference between two documents: a value that differs, or a learner or axis that one of them lacks."""

    place: str
    """Path of the value within `part`, such as "update.lr".

    For a learner or axis that is renamed, or that only one document has, this is a phrase such as "with GD".
    """

    before: str = ""
    after: str = ""
    part: tuple[str, ...] = ()
    """Path of the part that contains the value, such as ("problem",) or ("learners", "GD").

    Empty if `place` is a phrase, or if the difference is in a sweep axis.
    """

    owner: str = ""
    """Name of the learner that the value belongs to; empty if there is a single learner."""

    def __str__(self) -> str:
        arrow = f"{self.before} → {self.after}" if self.before or self.after else ""
        return " ".join(filter(None, (self.owner, self.place, arrow)))


def differences(before: Raw, after: Raw) -> list[SetupDifference]:
    """Return the differences between two complete documents, one for each value that differs.

    Titles, stories, claims and pictures are not compared, because they only describe or show the experiment.
    """
    changes, before = _renamed_axes(before, after)
    for part in ("problem", "protocol", "run"):
        changes += _differences_of_part((part,), before[part], after[part])
    changes += _differences_of_axes(before["axes"], after["axes"])
    old, new = ({learner["name"]: learner for learner in raw["learners"]} for raw in (before, after))
    renamed = _old_names(old, new)
    for learner_name, learner in new.items():
        was = old.get(renamed.get(learner_name, learner_name))
        if was is None:
            changes.append(SetupDifference(f"with {learner_name}{_optimizer_in_words(learner)}"))
            continue
        if was["name"] != learner_name:
            changes.append(SetupDifference(f"{was['name']} is called {learner_name}"))
        learner_changes = _differences_of_part(
            ("learners", learner_name), _without_name(was), _without_name(learner)
        )
        changes += [change._replace(owner=learner_name if len(new) > 1 else "") for change in learner_changes]
    gone = [
        learner_name
        for learner_name in old
        if learner_name not in new and learner_name not in renamed.values()
    ]
    changes += [SetupDifference(f"without {learner_name}") for learner_name in gone]
    swept = _swept_places(after)
    return [change for change in changes if (*change.part, change.place) not in swept]


def _swept_places(document: Raw) -> set[tuple[str, ...]]:
    """Return the path of each field that a sweep axis sets, such as ("problem", "target.degree").

    Changes of such a field are not listed, because the document contains only its first value of the sweep.
    """
    places: set[tuple[str, ...]] = set()
    for axis in document["axes"]:
        part, _, place = (axis.get("set") or "").partition(".")
        if number := re.fullmatch(r"learners\[(\d+)\]", part):
            places.add(("learners", document["learners"][int(number[1])]["name"], place))
        else:
            places.add((part, place))
    return places


def _differences_of_part(part: tuple[str, ...], before: Raw, after: Raw) -> list[SetupDifference]:
    return [change._replace(part=part) for change in between(before, after, "")]


def _renamed_axes(before: Raw, after: Raw) -> tuple[list[SetupDifference], Raw]:
    """Return a difference for each renamed axis, and the earlier document with the new names."""
    from engine.spec.changes import rename_axis

    old, new = ({axis["name"]: axis for axis in raw["axes"]} for raw in (before, after))
    renamed = _old_names(old, new)
    for axis_name, was in renamed.items():
        before = copy.deepcopy(before)
        rename_axis(before, was, axis_name)
        next(axis for axis in before["axes"] if axis["name"] == was)["name"] = axis_name
    return [SetupDifference(f"{was} is called {axis_name}") for axis_name, was in renamed.items()], before


def _differences_of_axes(before: list[Raw], after: list[Raw]) -> list[SetupDifference]:
    old, new = ({axis["name"]: _without_name(axis) for axis in axes} for axes in (before, after))
    added = [(axis_name, axis) for axis_name, axis in new.items() if axis_name not in old]
    changes = [SetupDifference(_sweep_words(axis_name, axis)) for axis_name, axis in added]
    for axis_name, axis in new.items():
        changes += between(old.get(axis_name, axis), axis, axis_name)
    return changes + [SetupDifference(f"not along {axis_name}") for axis_name in old if axis_name not in new]


def _sweep_words(axis_name: str, axis: Raw) -> str:
    """Return a phrase such as "d = 32 … 512 (5 values)"."""
    points: list[Any] = axis.get("values") or []
    if len(points) < 2 or any(isinstance(point, dict) for point in points):
        return f"along {axis_name}"
    ends = f"{_value_as_text(points[0])} … {_value_as_text(points[-1])}"
    return f"{axis.get('symbol') or axis_name} = {ends} ({len(points)} values)"


def _old_names(old: dict[str, Raw], new: dict[str, Raw]) -> dict[str, str]:
    """Return the old names of renamed learners or axes, by new name.

    A learner or axis counts as renamed if nothing but its name differs.
    """
    before = [learner for learner_name, learner in old.items() if learner_name not in new]
    after = [learner for learner_name, learner in new.items() if learner_name not in old]
    return {
        learner["name"]: was["name"]
        for learner in after
        for was in before
        if _without_name(learner) == _without_name(was)
    }


def _without_name(learner: Raw) -> Raw:
    return {key: field for key, field in learner.items() if key != "name"}


def between(before: Any, after: Any, place: str) -> list[SetupDifference]:
    """Return the differences between an earlier and a later value of the field at `place`.

    If the values are parts of different kinds, the result is a single difference of the kinds.
    """
    if before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        if before.get("kind") != after.get("kind"):
            return [SetupDifference(place, _kind_in_words(before), _kind_in_words(after))]
        changes: list[SetupDifference] = []
        for key in dict.fromkeys([*before, *after]):
            changes += between(before.get(key), after.get(key), f"{place}.{key}" if place else key)
        return changes
    return [SetupDifference(place, _value_as_text(before), _value_as_text(after))]


def _optimizer_in_words(learner: Raw) -> str:
    update = learner.get("update")
    return f" ({_kind_in_words(update)})" if isinstance(update, dict) and "options" in update else ""


def _kind_in_words(part: Raw) -> str:
    """Return a part's kind, and for a class of a library also its name and its rate.

    The rate is shown because our default rate may differ from that of the library's class.
    """
    if "options" not in part:
        return str(part["kind"])
    rate = f" at rate {_value_as_text(part['lr'])}" if "lr" in part else ""
    return f"{part['kind']} {part['name']}{rate}"


def _value_as_text(raw: Any) -> str:
    match raw:
        case None:
            return "none"
        case True:
            return "yes"
        case False:
            return "no"
        case float():
            return f"{raw:.4g}"
        case dict():
            return str(raw.get("kind") or (", ".join(f"{k} {v}" for k, v in raw.items()) or "none"))
        case list():
            return "[" + ", ".join(map(_value_as_text, raw)) + "]"
    return str(raw)


TRAINED = "problem", "protocol", "learners", "axes"
"""Fields of an experiment whose changes make the preset's own title wrong."""

SHOWN_ELSEWHERE = "device", "path"
"""Run settings that titles omit, because every output states the device and the backends."""


def texts_of_changed(
    name: str, experiment: Experiment, document: Raw, origin: Experiment, origin_document: Raw
) -> dict[str, str]:
    """Return the title, story, source and reason of an experiment that was made from a preset.

    If only run settings, pictures or claims differ from the preset, return the preset's texts, in which
    expressions are not evaluated. Otherwise, the title states the change, and the other texts are empty.

    Args:
        name: name of the preset.
        experiment: the experiment of `document`.
        origin: the experiment of `origin_document`, which is the preset with its defaults.
    """
    if all(getattr(experiment, part) == getattr(origin, part) for part in TRAINED):
        return {text: origin_document[text] for text in ("title", "story", "source", "reason")}
    changes = [
        str(change)
        for change in differences(origin_document, document)
        if change.part != ("run",) or change.place not in SHOWN_ELSEWHERE
    ]
    return {"title": plain(f"{name}: {', '.join(changes)}"), "story": "", "source": "", "reason": ""}
