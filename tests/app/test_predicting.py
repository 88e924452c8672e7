"""Guesses are drawn on the empty chart, stay there, and are judged at the end of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from view_fields import curve_view

from engine.pictures.view import CurveView
from hadamard_tui.app import HadamardApp
from hadamard_tui.charts.plots.view_plot import GUESS
from hadamard_tui.editing.editable_experiment import EditableExperiment, swept
from hadamard_tui.running.guesses import Guesses, is_right, outcome
from hadamard_tui.tours import Stop, Tour
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.screen_lines import Caption
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.stage import Stage

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")


def falls(y: np.ndarray) -> CurveView:
    """Curve with losses `y` after 0, 1, 2, … examples."""
    facts: dict[str, Any] = {
        "stderr": None,
        "replicas": 1,
        "diverged": 0,
        "diverged_at": None,
        "complete": True,
    }
    return curve_view(name="GD", learner="GD", x=np.arange(len(y)), y=y, over=lambda replicas: y, **facts)


@pytest.mark.parametrize(
    ("guess", "came_out", "right"),
    [
        (60, 60, True),
        (30, 60, True),
        (60, 30, True),
        (29, 60, False),
        (61, 30, False),
        (None, None, True),
        (None, 60, False),
        (60, None, False),
        (0, 0, True),
        (0, 5, False),
    ],
)
def test_a_guess_is_right_within_a_factor_of_two(guess, came_out, right):
    assert is_right(guess, came_out) == right


def test_the_outcome_is_the_start_of_the_final_stretch_below_a_tenth():
    assert outcome(falls(np.array([1.0, 0.05, 0.1, 0.09, 0.02]))) == 3
    assert outcome(falls(np.array([1.0, 0.05, np.nan]))) == 1
    assert outcome(falls(np.array([1.0, 0.05, 0.2]))) is None
    assert outcome(falls(np.ones(5))) is None


def test_a_mark_moves_from_the_first_evaluation_point_to_never():
    guesses = Guesses(np.arange(11.0), ["GD", "EGU"])
    assert guesses.x("GD") == 5
    guesses.move(-100)
    assert guesses.x("GD") == 0
    guesses.move(100)
    assert guesses.x("GD") is None
    guesses.move(-1)
    guesses.take()
    assert (guesses.confirmed, guesses.learner) == ({"GD": 10.0}, "EGU")


async def test_guesses_are_requested_marked_on_the_chart_and_judged(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("f", "g")
        assert "A (GD) stays below 0.1 after k = 8?" in screen_text(app)
        chart = app.laboratory.query_one("#loss", ChartView)
        await pilot.press("right", "right", "left")
        assert "after k = 9?" in screen_text(app)
        await pilot.press("end")
        assert "A (GD) never gets below 0.1?" in screen_text(app)
        await pilot.press("left", "left", "enter")
        assert "B (least squares)" in screen_text(app)
        assert any(series.name == "GD: 15" and series.mark == "A" for series in chart.shown[0])
        assert app.laboratory.session is None
        await pilot.press("home", "enter", "enter", "enter", "enter")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")
        assert session_of(app).guesses == {"GD": 15, "least squares": 0, "EGU": 8, "EGU±": 8, "spindly": 8}
        await until(pilot, lambda: "Guess →" in screen_text(app))
        assert "Guess → result (4/5 within a factor of two): A 15 → 15 ✓" in screen_text(app)
        marked = [series for series in chart.shown[0] if series.mark == GUESS and len(series.x)]
        assert [float(series.x[0]) for series in marked] == [15, 0, 8, 8, 8]


async def test_a_restart_keeps_the_guesses_and_a_changed_set_up_drops_them(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("f", "g", "enter", "enter", "r")
        guesses = {"GD": 8, "least squares": 8}
        first = session_of(app)
        assert first.guesses == guesses
        await pilot.press("r")
        assert session_of(app) is not first
        await until(pilot, lambda: session_of(app).state == "finished")
        assert session_of(app).guesses == guesses
        await until(pilot, lambda: "Guess → result" in screen_text(app))
        await pilot.press("A")
        assert session_of(app).document != first.document
        assert not session_of(app).guesses, "guesses are about the former seeds"


async def test_escape_returns_to_the_previous_guess_then_cancels_without_a_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("g")
        assert "esc cancels." in screen_text(app)
        await pilot.press("right", "enter", "enter")
        assert "C (EGU)" in screen_text(app)
        assert "esc: back to B." in screen_text(app)
        await pilot.press("escape")
        assert "B (least squares)" in screen_text(app)
        assert app.laboratory.guesses is not None
        assert app.laboratory.guesses.confirmed == {"GD": 9}
        await pilot.press("escape")
        assert "A (GD) stays below 0.1 after k = 9?" in screen_text(app)
        await pilot.press("escape")
        assert app.laboratory.guesses is None
        assert app.laboratory.session is None
        await until(pilot, lambda: "runs it" in screen_text(app))


async def test_guessing_ends_if_its_learners_were_removed(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("g")
        await until(pilot, lambda: app.laboratory.guesses is not None)
        app.laboratory.guesses = Guesses(np.arange(5.0), ["a learner that has gone"])
        await pilot.press("left")
        await until(pilot, lambda: app.laboratory.guesses is None)


def test_learners_can_be_skipped_and_the_last_guess_can_be_undone():
    guesses = Guesses(np.arange(11.0), ["GD", "EGU", "spindly"])
    guesses.skip(1)
    guesses.take()
    assert (guesses.confirmed, guesses.learner) == ({"EGU": 5.0}, "spindly")
    guesses.skip(1)
    assert guesses.learner == "GD"
    guesses.skip(1)
    assert guesses.learner == "spindly", "a confirmed guess is skipped"
    guesses.take()
    assert guesses.take_back()
    assert (guesses.confirmed, guesses.learner) == ({"EGU": 5.0}, "spindly")
    guesses.take()
    guesses.take()
    assert guesses.learner is None
    assert [guesses.take_back() for _ in range(4)] == [True, True, True, False]


async def test_page_keys_move_the_mark_far_and_a_run_keeps_confirmed_guesses():
    tour = Tour([Stop("hadamard-128", predict="When?", guess=("EGU", "spindly"))])
    app = HadamardApp(tour.editable, tour=tour)
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: "g marks your guess, r runs it." in screen_text(app))
        await pilot.press("f", "g")
        assert "C (EGU) stays below 0.1 after k = 64?" in screen_text(app)
        await pilot.press("pageup")
        assert "C (EGU) stays below 0.1 after k = 52?" in screen_text(app)
        assert not app._notifications, "page up does not go to another stop"
        await pilot.press("pagedown", "left_curly_bracket", "left_curly_bracket", "enter")
        assert "E (spindly)" in screen_text(app)
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session and session_of(app).state == "finished")
        assert session_of(app).guesses == {"EGU": 40}
        await until(pilot, lambda: tour.scores == {0: [True]})


async def test_guessing_ends_at_another_stop_or_after_a_change_of_the_set_up():
    tour = Tour(
        [
            Stop("hadamard-128", predict="When?", guess=("GD",)),
            Stop("zero-one-128", predict="And now?", guess=("GD",)),
        ]
    )
    app = HadamardApp(tour.editable, tour=tour)
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: "When?" in screen_text(app))
        await pilot.press("g", "greater_than_sign")
        await until(pilot, lambda: "And now?" in screen_text(app))
        assert app.laboratory.guesses is None
        await pilot.press("g")
        assert app.laboratory.guesses is not None, "the first press begins to guess"
        app.laboratory.query_one(SetupPane).change("run.replicas", 2)
        await until(pilot, lambda: app.laboratory.guesses is None)


async def test_guessing_shows_the_chart_of_losses_and_restores_the_picture():
    app = HadamardApp(EditableExperiment.of("hadamard-128-weights"))
    async with opened(app, WIDE) as pilot:
        stage = app.laboratory.query_one(Stage)
        assert stage.picture == 1
        await pilot.press("g")
        assert stage.picture == 0
        await pilot.press("i")
        assert stage.picture == 0, "the guesses are about the losses"
        await pilot.press("escape")
        assert stage.picture == 1


async def test_guesses_stay_on_the_chart_if_the_set_up_is_drawn_again(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("g")
        app.laboratory.redraw()  # as after a change of the colours
        await pilot.pause()
        assert "╌╌╌ loss 0.1" in screen_text(app)
        app.laboratory.query_one(SetupPane).post_message(SetupPane.Changed())
        await pilot.pause()
        assert "╌╌╌ loss 0.1" in screen_text(app)
        assert app.laboratory.guesses is not None


async def test_a_click_moves_the_mark_of_a_guess(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("g", "f")
        chart = app.laboratory.query_one("#loss", ChartView)
        await until(pilot, lambda: "A (GD) stays below 0.1 after k = 8?" in screen_text(app))
        chart.post_message(ChartView.Pointed(chart, 3.4))
        await until(pilot, lambda: "A (GD) stays below 0.1 after k = 3?" in screen_text(app))
        await pilot.press("enter")
        assert app.laboratory.guesses is not None
        assert app.laboratory.guesses.confirmed == {"GD": 3}


async def test_guessing_is_refused_for_a_sweep_with_the_reason(editable: EditableExperiment):
    app = HadamardApp(swept(editable, "problem.matrix.d", True, "d"))
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: "r Run" in screen_text(app))
        assert "g Predict" not in screen_text(app)
        await pilot.press("g")
        assert app.laboratory.guesses is None
        assert any("has a sweep" in note.message for note in app._notifications)


async def test_a_stop_with_another_question_takes_no_guess_and_keeps_its_chart():
    tour = Tour([Stop("hadamard-128-weights", predict="How large is the largest weight?")])
    app = HadamardApp(tour.editable, tour=tour)
    async with opened(app, WIDE) as pilot:
        await until(pilot, lambda: "largest weight? r runs it." in " ".join(screen_text(app).split()))
        assert "g Predict" not in screen_text(app)
        await pilot.press("g")
        assert app.laboratory.guesses is None
        assert app.laboratory.query_one(Stage).picture == 1
        assert any("is not when a loss falls below 0.1" in note.message for note in app._notifications)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_guess_prompt_keeps_two_lines_and_finally_announces_the_run(
    size: tuple[int, int],
):
    stop = Stop("hadamard-128", predict="When?", guess=("GD", "EGU"))
    tour = Tour([stop])
    app = HadamardApp(tour.editable, tour=tour)
    async with opened(app, size) as pilot:
        await until(pilot, lambda: "When?" in screen_text(app))
        caption = app.laboratory.query_one(Caption)
        await pilot.press("g")
        first = str(caption.render())
        assert first.splitlines() == [
            "A (GD) stays below 0.1 after k = 64?",
            "← → move the mark ({ }: far), enter confirms it, ] skips, r runs, esc cancels.",
        ]
        await until(pilot, lambda: caption.size.height == 2)
        await pilot.press("enter")
        assert "enter confirms it and runs, esc: back to A." in str(caption.render())
        await pilot.pause()
        assert caption.size.height == 2
