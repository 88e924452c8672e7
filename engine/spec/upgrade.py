"""Documents in other words: of the first edition, where claims had no kind and runs switches, and pictures
with marks among their lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS = {
    **dict.fromkeys(("loss", "error", "rank", "below", "above"), "value"),
    **dict.fromkeys(("never_below", "never_above", "follows"), "line"),
    "same_as": "same-as",
    "diverges": "diverges",
}
"""What kind a claim is of that has this key."""

NAMES = {
    "learner": "curve", "k": "at", "loss": "equals", "error": "equals", "rank": "equals", "of": "measure",
    "same_as": "other",
}  # fmt: skip
"""What keys are called that have another name."""

MEASURES = {"train": {"kind": "loss", "rows": "train"}, "unseen": {"kind": "loss", "rows": "test"}}
"""Measures that had a name and are a choice of another one."""


SWITCHES = {
    "train_loss": tuple(MEASURES.values()),
    "spectrum": ({"kind": "spectrum"}, {"kind": "rank"}),
}
"""The measures that these keys of a run had it record, or not."""


def upgraded(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document with its claims, its pictures and its run as they are said today.

    What makes no sense is left to be refused.
    """
    claims, run, pictures = raw.get("claims"), raw.get("run"), raw.get("pictures")
    if isinstance(pictures, list | tuple):
        raw = {**raw, "pictures": [_picture(picture) for picture in pictures]}
    if isinstance(claims, list | tuple):
        raw = {**raw, "claims": [_claim(claim) for claim in claims]}
    if isinstance(run, Mapping) and any(isinstance(run.get(switch), bool) for switch in SWITCHES):
        raw = {**raw, "run": _run(run)}
    return raw


def renamed(key: str, known: list[str]) -> str | None:
    """What a key of the first edition is called among those that are known; None for other keys."""
    name = NAMES.get(key)
    return name if name in known else None


def _picture(picture: Any) -> Any:
    """A picture whose lines are of the theory alone, and those that it draws itself its marks."""
    lines = picture.get("lines") if isinstance(picture, Mapping) else None
    if not isinstance(lines, list | tuple):
        return picture
    own = [line for line in lines if isinstance(line, Mapping) and line.get("kind") == "mark"]
    if not own:
        return picture
    marks = [{key: value for key, value in line.items() if key != "kind"} for line in own]
    named = [line for line in lines if line not in own]
    others = {key: value for key, value in picture.items() if key != "lines"}
    return {**others, "marks": [*picture.get("marks", ()), *marks]} | ({"lines": named} if named else {})


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run with measures in place of what its switches turn on, and without those that they turn off."""
    switches = {key: value for key, value in run.items() if key in SWITCHES and isinstance(value, bool)}
    found = {key: value for key, value in run.items() if key not in switches}
    measures = found.get("measures", ())
    if not isinstance(measures, list | tuple):
        return found
    parts = [{"kind": one} if isinstance(one, str) else one for one in measures]
    for switch, on in switches.items():
        others = [one for one in parts if one not in SWITCHES[switch]]
        parts = [*others, *SWITCHES[switch]] if on else others
    return {**found, "measures": parts}


def _claim(claim: Any) -> Any:
    if not isinstance(claim, Mapping) or "kind" in claim:
        return claim
    given = {key: value for key, value in claim.items() if value is not None}
    form = next((key for key in KINDS if key in given), None)
    if form is None:
        return claim
    found: dict[str, Any] = {"kind": KINDS[form]}
    if form in ("error", "rank"):
        found["measure"] = form
    for key, value in given.items():
        name = NAMES.get(key, key)
        if key == "of":
            value = MEASURES.get(value, value) if isinstance(value, str) else value
        if key == "of" and value == "loss":
            continue
        if key != "diverges" or value is not True:
            found[key if name in found else name] = value
    return found
