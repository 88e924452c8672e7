"""The time that is left is told in words, by how far the last seconds of work have come."""

from __future__ import annotations

import pytest

from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace
from hadamard_tui.running.progress import SPAN, Remaining, in_words
from hadamard_tui.running.session import Session
from hadamard_tui.widgets.status import status_text

from .test_pictures import editable


def seen(*steps: tuple[float, float]) -> Remaining:
    made = Remaining()
    for seconds, share in steps:
        made.see(seconds, share)
    return made


def test_it_goes_on_as_fast_as_it_went() -> None:
    assert seen((30, 0.1)).words == "about 4 min left"
    assert seen((20, 0.5), (20, 0.75)).words == "about 15 s left"


def test_what_was_long_ago_says_nothing() -> None:
    slow_then_fast = [(600.0, 0.01), *((1.0, 0.01 + 0.01 * second) for second in range(1, round(SPAN) + 2))]
    assert seen(*slow_then_fast).words == "about 1 min left"


def test_before_anything_is_known_nothing_is_said() -> None:
    assert seen().words == seen((1.0, 0.5)).words == seen((60, 0.0)).words == seen((60, 1.0)).words == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "a few seconds"),
        (47, "about 45 s"),
        (59, "about 1 min"),
        (125, "about 2 min"),
        (5400, "about 1.5 h"),
    ],
)
def test_times_are_told_as_people_say_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_the_status_says_it_beside_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    described: EditableExperiment = editable()
    session = Session(described.plan(), described.document, lambda *told: None, 1, Pace())
    monkeypatch.setattr(Session, "remaining", "about 2 min left")
    for width in (80, 160):
        line = status_text(session, described, Pace(), 30, width).plain
        assert "(1 of 3, about 2 min left)" in line or "1/3, about 2 min left" in line
        assert len(line) <= width
