"""Dealing cases into hands of nearly equal time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def dealt_evenly(cases: Sequence[T], seconds: Sequence[float], hands: int) -> list[list[T]]:
    """Deal the cases, longest first, each into the hand with the fewest seconds so far."""
    dealt: list[list[T]] = [[] for _ in range(hands)]
    sums = [0.0] * hands
    for number in sorted(range(len(cases)), key=lambda number: -seconds[number]):
        least = min(range(hands), key=sums.__getitem__)
        dealt[least].append(cases[number])
        sums[least] += seconds[number]
    return dealt
