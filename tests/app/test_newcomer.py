"""What a person meets who opens the app for the first time."""

from __future__ import annotations

import pytest
from rich.text import Text

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import panel_key
from hadamard_tui.screens.help import questions
from hadamard_tui.tours import break_at
from hadamard_tui.widgets.stage import Stage

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")


@pytest.mark.slow
async def test_a_guess_that_is_left_shows_the_run_from_before_again(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await finished(app, pilot)
        session, drawn = session_of(app), screen_text(app)
        await pilot.press("g")
        await until(pilot, lambda: app.laboratory.guesses is not None)
        assert app.laboratory.session is None
        await pilot.press("escape")
        await until(pilot, lambda: app.laboratory.session is session)
        await until(pilot, lambda: screen_text(app) == drawn)
        await pilot.press("g", "r")
        await until(pilot, lambda: session_of(app) is not session)


@pytest.mark.slow
async def test_a_story_ends_with_the_sweep_and_the_key_that_breaks_the_preset(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        context, first_run = app.laboratory.context, session_of(app)
        assert context is not None
        first, *_ = context.onward
        assert first == "Next: ~ sweeps d over five values, and shows the scaling law in d."
        assert any(words.startswith("Break it: B sets") for words in context.onward)
        change = break_at("hadamard-128")
        assert change is not None
        await pilot.press("B")
        await until(pilot, lambda: session_of(app).experiment.claims[0].text == change.text)
        broken = session_of(app)
        await until(pilot, lambda: broken.over)
        await pilot.press("u")
        await until(pilot, lambda: len(app.laboratory.editable.raw["learners"]) == 5)
        await until(pilot, lambda: session_of(app) is first_run)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: session_of(app) is broken)


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_slopes_stand_beside_their_reasons(size: tuple[int, int]):
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with opened(app, size) as pilot:
        await pilot.press("i")
        await until(pilot, lambda: app.laboratory.query_one(Stage).has_law_chosen)
        await until(pilot, lambda: "why log d:" in screen_text(app))
        shown = screen_text(app)
        assert "GD and least squares ∝ d^1.00" in shown
        for phrase in ("why d:", "coin", "factor"):
            assert phrase in shown
        await pilot.press(panel_key("why"))
        await until(pilot, lambda: screen_text(app).count("why log d:") == 2)


@pytest.mark.parametrize("word", ["EGU", "EGU±", "spindly", "one pass", "binds", "≡", "≈", "star"])
def test_help_explains_the_words_and_signs_of_the_first_preset(word: str):
    answers = dict(questions())
    assert word in Text(answers["What do the words and signs mean?"]).plain


@pytest.mark.parametrize("word", ["axis", "law", "heat map", "spectrum"])
def test_help_says_what_charts_other_than_losses_show(word: str):
    assert word in dict(questions())["What do the other charts show?"].casefold()


async def test_a_changed_preset_has_its_whole_name_in_the_first_row_at_80_columns(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await until(pilot, lambda: "hadamard-128* ▾" in screen_text(app).splitlines()[0])
