"""Hands get nearly equal time, and every case is dealt once."""

from __future__ import annotations

from dealing import dealt_evenly

from engine.spec import presets
from tests.slow import commits, test_presets_hold


def test_the_longest_case_is_dealt_first_to_the_least_busy_hand():
    assert dealt_evenly("abcd", [1, 5, 2, 3], hands=2) == [["b", "a"], ["d", "c"]]


def test_cases_of_equal_time_are_dealt_in_turn():
    assert dealt_evenly(range(7), [1.0] * 7, hands=3) == [[0, 3, 6], [1, 4], [2, 5]]


def test_three_commits_verify_all_presets_in_equal_time(monkeypatch):
    seconds = test_presets_hold.SECONDS
    thirds = []
    for number in range(3):
        monkeypatch.setattr(commits, "commit_number", lambda number=number: number)
        thirds.append(commits.turn(list(seconds), 3, list(seconds.values())))
    assert sorted(name for third in thirds for name in third) == sorted(presets.names())
    times = [sum(seconds[name] for name in third) for third in thirds]
    assert max(times) - min(times) < 1
