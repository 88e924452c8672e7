"""Documents in other words: of the first edition, where claims had no kind and runs switches, and pictures
with marks among their lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.spec.experiment import Experiment
from engine.spec.former_words import note, with_new_words

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

ROWS = {"train": {"kind": "loss", "rows": "train"}, "unseen": {"kind": "loss", "rows": "test"}}
LENGTHS = {
    f"{kind}-{length}": {"kind": kind, choice: length}
    for kind, choice in (("norm", "p"), ("margin", "q"))
    for length in ("1", "2", "max")
}
MEASURES = ROWS | LENGTHS
"""Measures that had a name and are a choice of another one."""

SWITCHES = {
    "train_loss": tuple(ROWS.values()),
    "spectrum": ({"kind": "spectrum"}, {"kind": "rank"}),
}
"""The measures that these keys of a run had it record, or not."""


def upgraded(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document with its claims, its pictures and its run as they are said today, and in new words.

    Former words are noted. What makes no sense is left to be refused.
    """
    claims, run, pictures = raw.get("claims"), raw.get("run"), raw.get("pictures")
    if isinstance(pictures, list | tuple):
        raw = {**raw, "pictures": [_picture(picture) for picture in pictures]}
    if isinstance(claims, list | tuple):
        raw = {**raw, "claims": [_claim(claim) for claim in claims]}
    if isinstance(run, Mapping) and any(isinstance(run.get(switch), bool) for switch in SWITCHES):
        raw = {**raw, "run": _run(run)}
    new: Mapping[str, Any] = with_new_words(Experiment, raw, _names_of_learners(raw))
    return new


def renamed(key: str, known: list[str]) -> str | None:
    """What a key of the first edition is called among those that are known; None for other keys."""
    name = NAMES.get(key)
    return name if name in known else None


def _names_of_learners(raw: Mapping[str, Any]) -> set[str]:
    learners = raw.get("learners")
    tables = learners if isinstance(learners, list | tuple) else ()
    return {name for one in tables if isinstance(one, Mapping) and isinstance(name := one.get("name"), str)}


def _picture(picture: Any) -> Any:
    """A picture of a measure of today, with lines of the theory alone; those that it draws are its marks."""
    if isinstance(picture, Mapping):
        picture = _of_gap(picture)
    lines = picture.get("lines") if isinstance(picture, Mapping) else None
    if not isinstance(lines, list | tuple):
        return picture
    own = [line for line in lines if isinstance(line, Mapping) and line.get("kind") == "mark"]
    if not own:
        return picture
    note("mark among lines", "marks")
    marks = [{key: value for key, value in line.items() if key != "kind"} for line in own]
    named = [line for line in lines if line not in own]
    others = {key: value for key, value in picture.items() if key != "lines"}
    return {**others, "marks": [*picture.get("marks", ()), *marks]} | ({"lines": named} if named else {})


def _of_gap(picture: Mapping[str, Any]) -> Mapping[str, Any]:
    """A picture of the gap behind one singular value as one of all gaps, at the place of that value."""
    measure = picture.get("measure")
    after = measure.get("after") if isinstance(measure, Mapping) else None
    if not isinstance(after, int) or measure != {"kind": "jacobian-gap", "after": after}:
        return picture
    note("after", "j in at")
    gaps = {"kind": "jacobian-gap", "most": after + 1}
    return {**picture, "measure": gaps, "at": {**picture.get("at", {}), "j": after}}


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run with measures in place of what its switches turn on, and without those that they turn off."""
    switches = {key: value for key, value in run.items() if key in SWITCHES and isinstance(value, bool)}
    found = {key: value for key, value in run.items() if key not in switches}
    measures = found.get("measures", ())
    if not isinstance(measures, list | tuple):
        return found
    parts = [{"kind": one} if isinstance(one, str) else one for one in measures]
    for switch, on in switches.items():
        note(switch, "measures")
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
        if key == "of" and isinstance(value, str) and value in MEASURES:
            note(value, ", ".join(MEASURES[value].values()))
            value = MEASURES[value]
        if key == "of" and value == "loss":
            continue
        if key != "diverges" or value is not True:
            new = key if name in found else name
            if new != key:
                note(key, new)
            found[new] = value
    return found
