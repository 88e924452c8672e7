"""Add axes, pictures and claims to a document or remove them, and adapt the rest of the document."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from engine.core.expressions import BadExpression, names_in
from engine.core.parts import BadInput
from engine.spec.changes import put_numbers
from engine.spec.documents import TAKEN, axes_of

if TYPE_CHECKING:
    from engine.spec.axis import Axis
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw

LETTERS = [letter for letter in string.ascii_lowercase if letter not in TAKEN]


def add_axis(raw: Raw) -> None:
    """Add an axis with two values and split the curves of all pictures by it."""
    used_names = {axis.get("name") for axis in raw["axes"]}
    name = next(letter for letter in LETTERS if letter not in used_names)
    raw["axes"].append({"name": name, "values": [1, 2]})
    for picture in raw["pictures"]:
        if picture.get("y") is None:
            picture["curves"] = [*_split_by(picture), name]
        else:
            picture["at"] = {**picture.get("at", {}), name: 1}


def remove_axis(raw: Raw, number: int, clock: str) -> None:
    """Remove an axis: its first value replaces its names, and pictures along it go along the clock."""
    name = raw["axes"][number].get("name")
    numbers = _first_numbers(raw, number)
    names = {name, *numbers}
    for picture in raw["pictures"]:
        along = names & _names_in(picture.get("x"))
        if along:
            picture["x"] = clock
        if names & _names_in(picture.get("y")):
            picture["y"], picture["contours"] = None, []
        picture["curves"] = [
            curve_name for curve_name in _split_by(picture) if curve_name != name
        ] or "learner"
        picture["at"] = {key: value for key, value in picture.get("at", {}).items() if key not in names}
        read = picture.get("read")
        if along or (isinstance(read, dict) and read.get("over") == name):
            picture["read"] = None  # along the clock every evaluation point is shown
    put_numbers(raw, numbers)
    del raw["axes"][number]


def give_axis_by(raw: Raw, number: int, kind: str) -> None:
    """Write the values of an axis as a list, or as a range from the first to the last."""
    axis = raw["axes"][number]
    try:
        grid = list(axes_of(raw)[number].grid)
    except BadInput:
        grid = list(axis.get("values") or [1, 2])
    ends = [value for value in grid if isinstance(value, int | float)] or [1, 2]
    if kind == "range":
        axis |= {"values": None, "from": ends[0], "to": ends[-1], "points": len(grid)}
    else:
        axis |= {"values": grid, "from": None, "to": None, "points": None}


def add_picture(raw: Raw, clock: str) -> None:
    """Add a picture of the loss against the clock, with curves split by all axes."""
    curves = [axis.get("name") for axis in raw["axes"]] or "learner"
    raw["pictures"].append({"x": clock, "measure": {"kind": "loss"}, "curves": curves})


def remove_picture(raw: Raw, number: int) -> None:
    """Remove a picture. Claims about the first picture keep naming it, and do not move to the next."""
    gone = raw["pictures"].pop(number)
    if number == 0 and raw["pictures"]:
        name = gone.get("name") or "the first one"
        for claim in raw["claims"]:
            if claim.get("picture") is None:
                claim["picture"] = name


def add_claim(raw: Raw, experiment: Experiment) -> None:
    """Add a claim about the last value of the first curve."""
    rows = experiment.n
    raw["claims"].append(
        {
            "kind": "value",
            "text": "The loss is small in the end",
            "curve": experiment.learners[0].name,
            "at": experiment.protocol.extent(rows).last,
            "below": 0.1,
        }
    )


def _first_numbers(raw: Raw, number: int) -> dict[str, float]:
    """Values of the names of an axis at its first point; empty while the axes are invalid."""
    try:
        axis: Axis = axes_of(raw)[number]
    except BadInput:
        return {}
    return axis.bound(axis.grid[0])


def _split_by(picture: dict[str, Any]) -> list[str]:
    curves = picture.get("curves") or []
    names = [curves] if isinstance(curves, str) else list(curves)
    return [name for name in names if name != "learner"]


def _names_in(text: Any) -> set[str]:
    try:
        return names_in(text) if isinstance(text, str) else set()
    except BadExpression:
        return set()
