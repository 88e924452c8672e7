"""A few cases of a cross in which every two values meet."""

from __future__ import annotations

from itertools import combinations, product

import crossing
import pytest


def pairs(cases: list[dict[str, int]]) -> set[tuple[object, ...]]:
    return {pair for case in cases for pair in combinations(sorted(case.items()), 2)}


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (2, 3, 4), (5, 5, 2, 2)])
def test_the_chosen_cases_cover_every_pair_of_values(sizes: tuple[int, ...]):
    cases = [
        dict(zip("abcd", case, strict=False))
        for case in product(*map(range, sizes))
        if len(case) < 3 or case[0] != case[2]  # not all combinations are allowed
    ]
    chosen = [cases[number] for number in crossing.covering(cases)]
    assert pairs(chosen) == pairs(cases)
    assert {pair for case in chosen for pair in case.items()} == {
        pair for case in cases for pair in case.items()
    }
    if len(sizes) > 2:
        assert len(chosen) < len(cases)


def test_all_combinations_are_taken_on_request(monkeypatch: pytest.MonkeyPatch):
    for is_asked in (True, False):
        monkeypatch.setattr(crossing, "all_combinations", is_asked)
        mark = crossing.crossed(a=[0, 1], b=[0, 1], c=[0, 1])
        assert mark.args[0] == ("a", "b", "c")
        assert (len(mark.args[1]) == 8) == is_asked
