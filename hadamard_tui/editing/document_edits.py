"""Edits of a preset document, such as adding an axis, and search for the claims that stay valid."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from engine.core.expressions import BadExpression, names_in
from engine.core.parts import BadInput
from engine.spec import changes, reading
from engine.spec.axis import AxisName
from engine.spec.changes import put_numbers
from engine.spec.check import BadClaims
from engine.spec.documents import TAKEN, axes_of

if TYPE_CHECKING:
    from engine.spec.axis import Axis
    from engine.spec.experiment import Experiment
    from engine.spec.reading import Raw


LETTERS = [letter for letter in string.ascii_lowercase if letter not in TAKEN]


def add_axis(raw: Raw) -> None:
    """Add a sweep axis with two values to a document.

    Every picture of curves then has a separate curve for each of the two values. Heat maps show the first
    value.
    """
    used_names = {axis.get("name") for axis in raw["axes"]}
    axis_name = next(letter for letter in LETTERS if letter not in used_names)
    raw["axes"].append({"name": axis_name, "values": [1, 2]})
    for picture in raw["pictures"]:
        if picture.get("y") is None:
            picture["curves"] = [*_sweep_axes_of_curves(picture), axis_name]
        else:
            picture["at"] = {**picture.get("at", {}), axis_name: 1}


def remove_axis(raw: Raw, number: int, clock: str) -> None:
    """Remove a sweep axis from a document, and replace references to the axis by its first value.

    Args:
        number: index of the removed axis among the document's axes.
        clock: the new x-axis, such as the number of examples, of pictures whose x-axis is removed.
    """
    axis_name = raw["axes"][number].get("name")
    numbers = _first_numbers(raw, number)
    names = {axis_name, *numbers}
    for picture in raw["pictures"]:
        along = names & _names_in(picture.get("x"))
        if along:
            picture["x"] = clock
        if names & _names_in(picture.get("y")):
            picture["y"], picture["contours"] = None, []
        picture["curves"] = [
            curve_name for curve_name in _sweep_axes_of_curves(picture) if curve_name != axis_name
        ] or "learner"
        picture["at"] = {key: setting for key, setting in picture.get("at", {}).items() if key not in names}
        read = picture.get("read")
        if along or (isinstance(read, dict) and read.get("over") == axis_name):
            picture["read"] = None  # a picture whose x-axis is the clock shows every evaluation point
    put_numbers(raw, numbers)
    del raw["axes"][number]


def give_axis_by(raw: Raw, number: int, kind: str) -> None:
    """Store the values of a sweep axis as a range from the first value to the last, or as a list.

    Args:
        number: index of the axis among the document's axes.
        kind: "range", or another word for a list.
    """
    axis = raw["axes"][number]
    try:
        grid = list(axes_of(raw)[number].grid)
    except BadInput:
        grid = list(axis.get("values") or [1, 2])
    ends = [end for end in grid if isinstance(end, int | float)] or [1, 2]
    if kind == "range":
        axis |= {"values": None, "from": ends[0], "to": ends[-1], "points": len(grid)}
    else:
        axis |= {"values": grid, "from": None, "to": None, "points": None}


def add_picture(raw: Raw, clock: str) -> None:
    curves = [axis.get("name") for axis in raw["axes"]] or "learner"
    raw["pictures"].append({"x": clock, "measure": {"kind": "loss"}, "curves": curves})


def remove_picture(raw: Raw, number: int) -> None:
    """Remove a picture from a document. Pictures with this picture as background lose their background.

    A claim that names no picture is about the first picture of the document. If the first picture is removed,
    such a claim gets its name, or "the removed picture" if it has no name. Otherwise, the claim would become
    a claim about the new first picture.
    """
    gone = raw["pictures"].pop(number)
    for picture in raw["pictures"]:
        if picture.get("beneath") is not None and picture["beneath"] == gone.get("name"):
            picture["beneath"] = None
    if number == 0 and raw["pictures"]:
        picture_name = gone.get("name") or "the removed picture"
        for claim in raw["claims"]:
            if claim.get("picture") is None:
                claim["picture"] = picture_name


def add_claim(raw: Raw, experiment: Experiment) -> None:
    rows = experiment.n
    raw["claims"].append(
        {
            "kind": "value",
            "text": "The loss is small at the end",
            "curve": experiment.learners[0].name,
            "at": experiment.protocol.extent(rows).last,
            "below": 0.1,
        }
    )


def _first_numbers(raw: Raw, number: int) -> dict[str, float]:
    try:
        axis: Axis = axes_of(raw)[number]
    except BadInput:
        return {}
    return axis.bound(axis.grid[0])


def _sweep_axes_of_curves(picture: dict[str, Any]) -> list[str]:
    curves = picture.get("curves") or []
    names = [curves] if isinstance(curves, str) else list(curves)
    return [axis_name for axis_name in names if axis_name != "learner"]


def _names_in(text: Any) -> set[str]:
    try:
        return names_in(text) if isinstance(text, str) else set()
    except BadExpression:
        return set()


RENAME = {
    "learners": changes.rename_learner,
    "axes": changes.rename_axis,
    "pictures": changes.rename_picture,
}


class Names:
    """Updates references to learners, axes and pictures while the user types new names for them.

    A partly typed name may be empty or equal to another name. References keep the former name until the new
    one is valid.
    """

    def __init__(self) -> None:
        self._former: dict[str, str] = {}
        self._last = ""

    def forget(self) -> None:
        self._former.clear()
        self._last = ""

    def blamed(self, raw: Raw, place: str) -> str:
        """Return the field that the user must change to correct an error at `place`.

        If the error is that two names are equal, this is the field of the name that the user typed last.
        Otherwise, it is the field at `place`, such as `learners[1].name`.
        """
        refused, where, point = place.partition(" where ")
        part = refused.partition("[")[0]
        named = refused.endswith("].name") and self._last.startswith(f"{part}[")
        same = named and reading.value_at(refused, raw) == reading.value_at(self._last, raw)
        return self._last + where + point if same else place

    def follow(self, raw: Raw, place: str, new: Any) -> None:
        """Rename all references to a learner, an axis or a picture before it gets the name `new`.

        Call this just before `new` is put at `place`. If `place` is not the place of such a name, do nothing.
        """
        match = re.fullmatch(r"(learners|axes|pictures)\[(\d+)\]\.name", place)
        if match is None:
            return
        part, number = match[1], int(match[2])
        self._last = place
        former_name = self._former.pop(place, raw[part][number].get("name"))
        if not former_name:
            return
        other_names = [
            item.get("name") for other_number, item in enumerate(raw[part]) if other_number != number
        ]
        if new in other_names or not _can_be_name(part, new):
            self._former[place] = former_name
        else:
            RENAME[part](raw, former_name, new)


def _can_be_name(part: str, name: Any) -> bool:
    if part != "axes":
        return isinstance(name, str) and bool(name)
    try:
        return msgspec.convert(name, AxisName) not in TAKEN
    except msgspec.ValidationError:
        return False


Read = TypeVar("Read")


class LeftOutClaim(NamedTuple):
    """A claim that refers to a missing part of an edited experiment, and the reason why it is left out.

    For example, the claim may be about a learner that the user has removed.
    """

    claim: dict[str, Any]
    why: BadInput


class Fitting(NamedTuple):
    """Numbers of the claims that an edited experiment can keep, and the claims that it must leave out.

    A claim must be left out if, for example, it is about a learner that the user has removed.

    Args:
        numbers: indices of the kept claims in the list of all claims.
        left_out: the claims that are left out, by their index in the list of all claims.
    """

    numbers: list[int]
    left_out: dict[int, LeftOutClaim]


def fitting_claims(raw: Raw, read: Callable[[Raw], Read]) -> tuple[Read, Raw, Fitting]:
    """Read a document without the claims that `read` refuses, such as claims about a missing learner.

    Returns: the result of `read`, the document without the refused claims, and the list of kept and refused
    claims.

    Raises: BadInput if `read` refuses a part of the document that is not a claim.
    """
    claims = raw.get("claims") or []
    fitting_numbers = list(range(len(claims)))
    left_out: dict[int, LeftOutClaim] = {}
    while True:
        document = {**raw, "claims": [claims[number] for number in fitting_numbers]}
        try:
            return read(document), document, Fitting(fitting_numbers, left_out)
        except BadInput as first:
            refusals = [first, *(first.further_refusals if isinstance(first, BadClaims) else ())]
            left_out |= dict(_left_out_claim(refusal, claims, fitting_numbers) for refusal in refusals)
            fitting_numbers = [number for number in fitting_numbers if number not in left_out]


def _left_out_claim(
    refusal: BadInput, claims: list[dict[str, Any]], numbers: list[int]
) -> tuple[int, LeftOutClaim]:
    """Return the index in `claims` of the claim that was refused, and this claim with the reason.

    Args:
        refusal: error that names the claim by its position among the checked claims.
        claims: all claims of the document.
        numbers: for each checked claim, its index in `claims`.

    Raises: `refusal` itself if the error is not about a claim.
    """
    place = re.match(r"claims\[(\d+)\]", refusal.where)
    if place is None:
        raise refusal
    number = numbers[int(place[1])]
    where = f"claims[{number}]{refusal.where[place.end() :]}"
    return number, LeftOutClaim(claims[number], BadInput(where, refusal.fault))
