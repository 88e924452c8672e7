"""Crossed cases: all combinations, or a few in which every two values meet once.

`make test` runs the few; `make test-all`, which is pytest with `--whole`, runs all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations, product
from typing import Any

import pytest

Traits = Mapping[str, Hashable]
"""Traits of a case: factor → value."""

all_combinations = False
"""Whether all cases run; conftest.py sets it before pytest imports any test file."""


def crossed(**axes: Iterable[Any] | Mapping[Any, Traits]) -> pytest.MarkDecorator:
    """Parametrize a test by several names at once. Values with traits are crossed by their traits."""
    return pytest.mark.parametrize(tuple(axes), crossings(**axes))


def crossings(**axes: Iterable[Any] | Mapping[Any, Traits]) -> list[tuple[Any, ...]]:
    """Combinations of values with which a test runs."""
    cases = list(product(*axes.values()))
    return chosen(cases, [_traits(axes, case) for case in cases])


def _traits(axes: Mapping[str, Iterable[Any] | Mapping[Any, Traits]], case: tuple[Any, ...]) -> Traits:
    traits: dict[str, Hashable] = {}
    for (name, axis), choice in zip(axes.items(), case, strict=True):
        traits |= axis[choice] if isinstance(axis, Mapping) else {name: str(choice)}
    return traits


def covering_names(values: Mapping[Any, Traits]) -> list[Any]:
    """A few of the names that cover every trait, to cross them with one factor in one test."""
    names = list(values)
    return names if all_combinations else [names[number] for number in covering(list(values.values()), 1)]


def chosen(cases: Sequence[Any], traits: Sequence[Traits]) -> list[Any]:
    """The cases to run."""
    return list(cases) if all_combinations else [cases[number] for number in covering(traits)]


def covering(traits: Sequence[Traits], together: int = 2) -> list[int]:
    """Numbers of a few cases that cover every combination of `together` values, found greedily."""
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
