"""A looped test runs all of its cases and names those that fail."""

from __future__ import annotations

from inspect import signature

import crossing
import pytest
from looping import looped


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing, "all_combinations", False)


def test_every_case_of_a_loop_runs_despite_a_failed_case():
    seen = []

    @looped("number", [1, 2, 3])
    @looped(("word", "length"), [("a", 1), pytest.param("bc", 2)])
    def test(number, word, length):
        seen.append((number, word))
        assert number != 2

    with pytest.raises(ExceptionGroup) as caught:
        test()
    assert seen == [(number, word) for number in (1, 2, 3) for word in ("a", "bc")]
    assert caught.value.__notes__ == ["with {'number': 2}"]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["with {'word': 'a', 'length': 1}"],
        ["with {'word': 'bc', 'length': 2}"],
    ]


def test_a_single_failure_of_a_loop_is_raised_unchanged():
    @looped("number", [1, 2])
    def test(number, limit):
        assert number < limit

    assert [*signature(test).parameters] == ["limit"]
    test(limit=3)
    with pytest.raises(AssertionError) as caught:
        test(limit=2)
    assert caught.value.__notes__ == ["with {'number': 2}"]


def test_make_test_all_runs_every_case_as_a_test(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(crossing, "all_combinations", True)
    assert looped("number", [1, 2], ids=str).args[:2] == ("number", [1, 2])
