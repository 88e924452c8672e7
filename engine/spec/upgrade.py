"""Documents of the first edition, where claims had no kind, in the words of this one."""

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


def upgraded(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document with its claims as they are said today; what makes no sense is left to be refused."""
    claims = raw.get("claims")
    if not isinstance(claims, list | tuple):
        return raw
    return {**raw, "claims": [_claim(claim) for claim in claims]}


def renamed(key: str, known: list[str]) -> str | None:
    """What a key of the first edition is called among those that are known; None for other keys."""
    name = NAMES.get(key)
    return name if name in known else None


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
