"""The remaining time is shown in words, estimated from the progress of the last seconds."""

from __future__ import annotations

import pytest

from engine.runtime.sweep_run import Event, PointDone, run_sweep
from engine.spec.documents import sweep_of
from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.playback import Pace
from hadamard_tui.running.progress import SPAN, EngineTime, Remaining, duration_in_words
from hadamard_tui.running.session import Session
from hadamard_tui.widgets.selection_bar import Progress, Situation, progress_text

from .conftest import until
from .test_pictures import editable

INNER_AXIS = {
    "axes": [
        {"name": "size", "values": [4, 8]},
        {"name": "rows", "from": 4, "to": 32, "log": True, "until": "read"},
    ],
    "problem": {"matrix": {"kind": "gaussian", "n": "rows", "d": "size"}, "target": "feature"},
    "learners": [{"name": "LLS", "solver": "lls"}],
    "pictures": [{"x": "size", "measure": "excess-risk", "read": {"over": "rows", "first_below": 0.1}}],
}


def seen(*steps: tuple[float, float]) -> Remaining:
    remaining = Remaining()
    for seconds, share in steps:
        remaining.see(seconds, 100 * share, 100 * (1 - share))
    return remaining


def test_the_remaining_time_extrapolates_the_observed_speed() -> None:
    assert seen((30, 0.1)).words == "about 4 min left"
    assert seen((20, 0.5), (20, 0.75)).words == "about 15 s left"


def test_early_progress_does_not_affect_the_remaining_time() -> None:
    slow_then_fast = [(600.0, 0.01), *((1.0, 0.01 + 0.01 * second) for second in range(1, round(SPAN) + 2))]
    assert seen(*slow_then_fast).words == "about 1 min left"


def test_no_remaining_time_is_shown_without_enough_progress() -> None:
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
def test_remaining_times_are_rounded_and_written_in_words(seconds: float, words: str) -> None:
    assert duration_in_words(seconds) == words


def test_the_status_shows_the_remaining_time_beside_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    described: EditableExperiment = editable()
    session = Session(described.sweep(), described.document, lambda *told: None, 1, Pace())
    monkeypatch.setattr(EngineTime, "remaining", "about 2 min left")
    for width in (80, 160):
        line = progress_text(Situation(session, described, Pace(), 30), width).plain
        assert "(point 1 of 3, about 2 min left)" in line or "1/3, about 2 min left" in line
        assert len(line) <= width


def test_a_starting_set_up_does_not_ask_for_the_run_key() -> None:
    described = editable()
    for width in (18, 80, 160):
        for is_starting, words in ((False, "○ ready"), (True, "◌ loading engine")):
            line = progress_text(
                Situation(None, described, Pace(), 30, runs_at_start=is_starting), width
            ).plain
            assert line.startswith(words)
            assert ("press r" in line) == (not is_starting and width > 18)


async def test_the_first_row_does_not_ask_for_a_key_while_the_engine_loads(
    unchanged: EditableExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    update = Progress.update
    monkeypatch.setattr(
        Progress, "update", lambda it, text, **words: (shown.append(str(text)), update(it, text, **words))[1]
    )
    app = HadamardApp(unchanged.copied(), autorun=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.laboratory.session is not None)
    assert shown[0] == "◌ loading engine"
    assert not any("ready" in words or "press" in words for words in shown)


def test_a_session_visits_points_in_order_and_counts_skipped_runs() -> None:
    points = sweep_of(INNER_AXIS)
    session = Session(points, INNER_AXIS, lambda *told: None, 1, Pace())
    assert session.point.skipped == ""
    at = []

    def heard(event: Event) -> None:
        session.receive(event)
        if isinstance(event, PointDone):
            at.append((session.point.number, event.number))

    results = run_sweep(points, notify=heard)
    assert at == [(number, number) for number in results.traces]
    assert len(at) < len(points.points)
    skipped = sum(map(len, results.skipped.values()))
    planned = sum(len(point.experiment.learners) for point in points.points)
    line = progress_text(Situation(session, EditableExperiment(INNER_AXIS, None), Pace(), 30), 300).plain
    assert f"(point {session.point.number + 1} of {len(points.points)}, " in line
    assert f"{skipped} of {planned} runs skipped: these runs would change no picture" in line


def test_the_remaining_time_is_an_upper_bound_if_points_may_be_skipped() -> None:
    session = Session(sweep_of(INNER_AXIS), INNER_AXIS, lambda *told: None, 1, Pace())
    session.engine_time.begin()
    session.engine_time._remaining.see(30.0, 1.0, 4.0)
    assert session.engine_time.remaining == "at most about 2 min left"
