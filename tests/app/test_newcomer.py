"""What a person meets who opens the app for the first time."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from code_blocks import ROOT
from rich.text import Text

from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import of_run
from hadamard_tui.app import HadamardApp
from hadamard_tui.browsing.preset_list import PresetGroup, groups
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.keyboard import panel_key
from hadamard_tui.panels.instances import excerpt
from hadamard_tui.screens.help import questions
from hadamard_tui.tours import break_at
from hadamard_tui.widgets.controls import NumberEntry
from hadamard_tui.widgets.screen_lines import Keys
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.stage import Stage
from hadamard_tui.widgets.tabs import PictureRow

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")


@pytest.mark.slow
async def test_leaving_a_guess_restores_the_previous_run(app: HadamardApp):
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
async def test_a_story_ends_with_the_keys_that_sweep_and_break_the_preset():
    app = HadamardApp(EditableExperiment.of("hadamard-128", ["run.device=cpu"]))
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        context, first_run = app.laboratory.context, session_of(app)
        assert context is not None
        first, *_ = context.onward()
        assert first == "Next: ~ sweeps d over five values, and shows the scaling law in d."
        assert any(
            words.startswith("Break it with B: update of GD becomes p-norm. With")
            for words in context.onward()
        )
        change = break_at("hadamard-128")
        assert change is not None
        await pilot.press("B")
        await until(pilot, lambda: session_of(app).experiment.claims[0].text == change.text)
        broken = session_of(app)
        await until(pilot, lambda: broken.over)
        assert not any("learn" in words for words in app.laboratory.context.onward()), "changed set-up"
        await pilot.press("u")
        await until(pilot, lambda: len(app.laboratory.editable.raw["learners"]) == 5)
        await until(pilot, lambda: session_of(app) is first_run)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: session_of(app) is broken)


def test_the_story_names_the_row_that_causes_the_peak():
    experiment = presets.load("hadamard-128", ["run.device=cpu"])
    all_rows = slice(0, experiment.problem.matrix.d)
    rows = excerpt(experiment.problem.matrix, experiment.run.seed, all_rows, all_rows)
    [equal_row] = np.flatnonzero((rows == rows[:, :1]).all(axis=1))
    losses = view(of_run(experiment), of_one(experiment, run(experiment)))
    for learner in ("EGU", "spindly"):
        y = losses.curve(learner).y
        assert int(np.argmax(np.diff(y))) == equal_row, "the loss rises most by this row"
        assert y[equal_row + 1] > 3 * y[equal_row]
    cause = f"after k = {equal_row + 1} comes from the one row whose entries are all equal"
    assert cause in " ".join(experiment.story.split())


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_law_shows_its_slopes_with_their_reasons(size: tuple[int, int]):
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with opened(app, size) as pilot:
        row = app.laboratory.query_one(PictureRow)
        await until(pilot, lambda: len(row.names) == 2)  # the stored law is read after the first paint
        await pilot.press("i")
        await until(pilot, lambda: app.laboratory.query_one(Stage).has_law_chosen)
        await until(pilot, lambda: "why log d:" in screen_text(app))
        shown = screen_text(app)
        assert "GD and least squares ∝ d^1.00" in shown
        for phrase in ("why d:", "coin", "factor"):
            assert phrase in shown
        await pilot.press(panel_key("why"))
        await until(pilot, lambda: screen_text(app).count("why log d:") == 2)


async def test_the_welcome_page_tells_apart_entries_that_run_and_entries_that_open() -> None:
    app = HadamardApp(EditableExperiment.of("hadamard-128"), first=True)
    async with opened(app, SMALL) as pilot:
        await until(pilot, lambda: "enter runs" in screen_text(app))
        await pilot.press("end")
        await until(pilot, lambda: "enter opens" in screen_text(app) and "enter runs" not in screen_text(app))


@pytest.mark.parametrize(("size", "panel"), [(WIDE, "story"), ((200, 60), "learners")])
async def test_the_screen_shows_the_story_of_an_opened_preset_once(size: tuple[int, int], panel: str):
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with opened(app, size) as pilot:
        await app.choose_preset("rotated-128")
        await until(pilot, lambda: app.laboratory.query_one(Stage).chosen == panel)
        await until(pilot, lambda: screen_text(app).count("The Hadamard rows are multiplied") == 1)


@pytest.mark.parametrize("word", ["EGU", "EGU±", "spindly", "one pass", "binds", "≡", "≈", "star"])
def test_help_explains_the_words_and_signs_of_the_first_preset(word: str):
    answers = dict(questions())
    assert word in Text(answers["What do the words and signs mean?"]).plain


@pytest.mark.parametrize("word", ["axis", "law", "heat map", "spectrum"])
def test_help_explains_charts_of_other_measures_than_the_loss(word: str):
    assert word in dict(questions())["What do the other charts show?"].casefold()


async def test_a_changed_preset_shows_its_full_name_at_80_columns(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        await until(pilot, lambda: "hadamard-128* ▾" in screen_text(app).splitlines()[0])


def test_help_names_the_learners_excluded_from_the_shaded_region():
    answers = dict(questions())
    excluded = "their loss cannot stay below this bound, in the shaded region"
    assert excluded in answers["What are the dashed lines?"]


def test_the_story_names_the_label_and_the_measures_of_headline_and_law():
    story = " ".join(presets.load("hadamard-128").story.split())
    assert "The label of a row is one of its features" in story
    stored = json.loads((presets.folder() / "stored" / "hadamard-128.json").read_text())
    firsts = [
        dict(zip(series["x"], series["y"], strict=True))[128]
        for series in stored["law"]["series"]
        if series["name"] in ("EGU", "spindly")
    ]
    assert firsts == [20, 20]
    assert "first below a tenth grows like log d; here it is about 20" in story
    headlines = (ROOT / "docs" / "reference" / "headlines.md").read_text()
    assert "| hadamard-128 | EGU, EGU± and spindly stay below a tenth after 30 examples" in headlines
    assert "After 30 examples, their loss stays below a tenth" in story


async def test_an_opened_preset_shows_its_story(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press(panel_key("why"))
        await app.choose_preset("rank-64")
        await until(pilot, lambda: app.laboratory.editable.preset == "rank-64")
        assert app.laboratory.query_one(Stage).chosen == "story"
        beginning = app.laboratory.editable.experiment.story.split()[:3]
        await until(pilot, lambda: " ".join(beginning) in screen_text(app))


@pytest.mark.set_up("filled")
async def test_the_footer_hides_keys_taken_as_text_by_the_focused_field(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        footer, setup = app.laboratory.query_one(Keys), app.laboratory.query_one(SetupPane)
        await until(pilot, lambda: "run" in footer.entries and setup.query(NumberEntry))
        setup.enter("problem.matrix.d")
        await until(pilot, lambda: "run" not in footer.entries)
        assert {"leave", "vary"} <= footer.entries.keys()
        assert not {"help", "presets", "quit", "pin"} & footer.entries.keys()
        await pilot.press("escape")
        await until(pilot, lambda: "run" in footer.entries)


async def test_the_preset_list_shows_that_it_is_loading(app: HadamardApp, monkeypatch):
    is_read = threading.Event()

    def slow(opened: str | None) -> list[PresetGroup]:
        is_read.wait(20)
        return groups(opened)

    monkeypatch.setattr("hadamard_tui.screens.browser.groups", slow)
    async with opened(app, WIDE) as pilot:
        await pilot.press("p", "r")
        await until(pilot, lambda: screen_text(app).count("Reading the presets …") == 2)
        is_read.set()
        await until(pilot, lambda: "Reading the presets" not in screen_text(app))


async def test_an_empty_panel_names_the_key_that_starts_a_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press(panel_key("invariance"))
        await until(pilot, lambda: "Shown after a run (r): " in screen_text(app))
