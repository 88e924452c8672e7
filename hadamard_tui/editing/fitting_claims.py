"""Which claims of a document still speak of what there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from engine.core.parts import BadInput
from engine.spec.check_claims import BadClaims
from engine.spec.reading import Raw

Read = TypeVar("Read")


class LeftOut(NamedTuple):
    """A claim that does not fit the set-up, as it is written, and why."""

    claim: dict[str, Any]
    why: BadInput


class Fitting(NamedTuple):
    """The claims that fit, by their place among all, and those that do not."""

    kept: list[int]
    left_out: dict[int, LeftOut]


def fitting(raw: Raw, read: Callable[[Raw], Read]) -> tuple[Read, Raw, Fitting]:
    """What a document is read as without the claims that `read` refuses, this document, and these claims.

    Raises: BadInput for anything else that `read` refuses.
    """
    claims = raw.get("claims") or []
    kept = list(range(len(claims)))
    left_out: dict[int, LeftOut] = {}
    while True:
        given = {**raw, "claims": [claims[number] for number in kept]}
        try:
            return read(given), given, Fitting(kept, left_out)
        except BadInput as first:
            tried = list(kept)
            for error in (first, *(first.others if isinstance(first, BadClaims) else ())):
                refused = re.match(r"claims\[(\d+)\]", error.where)
                if refused is None:
                    raise
                number = tried[int(refused[1])]
                kept.remove(number)
                where = f"claims[{number}]{error.where[refused.end() :]}"
                left_out[number] = LeftOut(claims[number], BadInput(where, error.what))
