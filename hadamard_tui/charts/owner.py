"""Whose a line of the theory is, by what it is called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Owned(NamedTuple):
    """A line that is about one curve alone."""

    what: str
    """What it is called without that curve, as "bound"."""

    whose: str
    """The name of the curve."""


def owned(name: str, curves: Iterable[str]) -> Owned | None:
    """What a line called "bound of EGU" is, and whose; None if it is of none of these curves."""
    whose = next((curve for curve in curves if name.endswith(f" of {curve}")), None)
    return None if whose is None else Owned(name.removesuffix(f" of {whose}"), whose)
