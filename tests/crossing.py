"""Crossed cases: so few that every two values meet once, or all of them.

`make test` runs the few, and `make test-all`, which is pytest with `--whole`, all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations, product
from typing import Any

import pytest

Traits = Mapping[str, Hashable]
"""What a case is made of: factor → value."""

all_combinations = False
"""Whether all cases are wanted; conftest.py sets it before any test file is read."""


def crossed(**axes: Iterable[Any] | Mapping[Any, Traits]) -> pytest.MarkDecorator:
    """Parametrize a test by several names at once; a value that has traits of its own is crossed by these."""
    return pytest.mark.parametrize(tuple(axes), crossings(**axes))


def crossings(**axes: Iterable[Any] | Mapping[Any, Traits]) -> list[tuple[Any, ...]]:
    """The combinations of values with which a test is to be run."""
    cases = list(product(*axes.values()))
    return chosen(cases, [_traits(axes, case) for case in cases])


def _traits(axes: Mapping[str, Iterable[Any] | Mapping[Any, Traits]], case: tuple[Any, ...]) -> Traits:
    traits: dict[str, Hashable] = {}
    for (name, axis), choice in zip(axes.items(), case, strict=True):
        traits |= axis[choice] if isinstance(axis, Mapping) else {name: str(choice)}
    return traits


def covering_names(values: Mapping[Any, Traits]) -> list[Any]:
    """Few of the values, among which every trait is found: to cross them with one factor in one test."""
    names = list(values)
    return names if all_combinations else [names[number] for number in covering(list(values.values()), 1)]


def chosen(cases: Sequence[Any], traits: Sequence[Traits]) -> list[Any]:
    """The cases to run."""
    return list(cases) if all_combinations else [cases[number] for number in covering(traits)]


def covering(traits: Sequence[Traits], together: int = 2) -> list[int]:
    """The numbers of few cases in which every so many values meet that meet in any case, found greedily."""
    bits: dict[tuple[Any, ...], int] = {}  # sets of groups of values are numbers: their bits are counted fast
    groups = []
    for traits_of_case in traits:
        bits_of_case = 0
        for size in range(1, together + 1):
            for group in combinations(sorted(traits_of_case.items()), size):
                bits_of_case |= 1 << bits.setdefault(group, len(bits))
        groups.append(bits_of_case)
    missing = (1 << len(bits)) - 1
    queue = [(-group.bit_count(), number) for number, group in enumerate(groups)]
    heapify(queue)
    chosen = []
    while missing:
        promised, number = heappop(queue)
        count = (groups[number] & missing).bit_count()
        if count == -promised:
            chosen.append(number)
            missing &= ~groups[number]
        elif count:
            heappush(queue, (-count, number))
    return sorted(chosen)
