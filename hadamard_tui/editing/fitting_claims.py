"""Find the claims of a document that still fit it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from engine.core.parts import BadInput
from engine.spec.check import BadClaims

if TYPE_CHECKING:
    from engine.spec.reading import Raw

Read = TypeVar("Read")


class LeftOut(NamedTuple):
    """A claim that does not fit the set-up, as it is written, and the reason."""

    claim: dict[str, Any]
    why: BadInput


class Fitting(NamedTuple):
    """Claims that fit, by their place among all, and claims that do not."""

    kept: list[int]
    left_out: dict[int, LeftOut]


def fitting(raw: Raw, read: Callable[[Raw], Read]) -> tuple[Read, Raw, Fitting]:
    """Read a document without the claims that `read` refuses.

    Returns: what `read` returns, the document without these claims, and the claims.

    Raises: BadInput for anything else that `read` refuses.
    """
    claims = raw.get("claims") or []
    fitting_numbers = list(range(len(claims)))
    left_out: dict[int, LeftOut] = {}
    while True:
        document = {**raw, "claims": [claims[number] for number in fitting_numbers]}
        try:
            return read(document), document, Fitting(fitting_numbers, left_out)
        except BadInput as first:
            refusals = [first, *(first.others if isinstance(first, BadClaims) else ())]
            left_out |= dict(_left_out(refusal, claims, fitting_numbers) for refusal in refusals)
            fitting_numbers = [number for number in fitting_numbers if number not in left_out]


def _left_out(refusal: BadInput, claims: list[dict[str, Any]], numbers: list[int]) -> tuple[int, LeftOut]:
    """Return the claim that is refused, and its place among all claims.

    Args:
        numbers: the places among all claims of the claims in the refused document.

    Raises: `refusal` itself if it is about no claim.
    """
    place = re.match(r"claims\[(\d+)\]", refusal.where)
    if place is None:
        raise refusal
    number = numbers[int(place[1])]
    where = f"claims[{number}]{refusal.where[place.end() :]}"
    return number, LeftOut(claims[number], BadInput(where, refusal.what))
