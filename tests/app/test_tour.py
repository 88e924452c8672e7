"""The tour, the first start, and what an empty chart says."""

from __future__ import annotations

import threading
from functools import cache
from textwrap import wrap

import crossing
import pytest
from looping import looped
from textual.widgets import Digits, Label, OptionList, Static

from engine.runtime import worker
from engine.spec import presets
from hadamard_tui.app import HadamardApp
from hadamard_tui.browsing.preset_list import NEW, OWN_TABLE
from hadamard_tui.charts.plots.values import looked_at
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.panels import ABOUT, TABLE, story
from hadamard_tui.screens import guide
from hadamard_tui.screens.help import FIRST, Help, Welcome
from hadamard_tui.screens.laboratory import WORDS
from hadamard_tui.tours import ESSENTIALS, Stop, Tour, paths, talks
from hadamard_tui.widgets.banner import LINES, Banner, fitting
from hadamard_tui.widgets.chart_view import ChartView
from hadamard_tui.widgets.controls import Words
from hadamard_tui.widgets.screen_lines import Caption
from hadamard_tui.widgets.stage import PanelWords, Stage

from .conftest import SMALL, WIDE, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")

TWO = ("hadamard-128", "zero-one-128")
BOTH = tuple(map(Stop, TWO))
STOPS = talks()[ESSENTIALS].stops


def banner(app: HadamardApp) -> str:
    """Text of the banner, with its large numbers."""
    shown = app.laboratory.query_one(Banner)
    digits = " ".join(digits.value for digits in shown.query(Digits))
    return f"{shown.query_one('#words', Static).content} {digits}"


def at(app: HadamardApp, preset: str) -> bool:
    """Whether the app runs the preset of a stop."""
    session = app.laboratory.session
    return session is not None and session.experiment == loaded(preset)


loaded = cache(presets.load)
"""Cached loader, so that waiting for a preset does not load it repeatedly."""


def test_every_stop_is_a_preset_with_a_story() -> None:
    for stop in STOPS:
        assert presets.load(stop.preset).story
        assert stop.panel in (None, *ABOUT)
        assert (stop.panel == "weights") == ("weights" in presets.load(stop.preset).title)


@looped("width", [1, 30, 60, 200])
@looped("stop", [stop.preset for stop in STOPS])
def test_a_story_is_shortened_to_complete_fitting_sentences(width: int, stop: str) -> None:
    experiment = loaded(stop)
    story_text, told = " ".join(experiment.story.split()), fitting(experiment.title, experiment.story, width)
    assert story_text.startswith(told.removesuffix(" …"))
    assert told.endswith(" …") == (told not in ("", story_text))
    assert len(wrap(experiment.title, width)) + len(wrap(told, width)) <= LINES or not told
    if width == 200:
        assert told


def test_a_hint_follows_a_complete_story_and_is_omitted_first() -> None:
    assert fitting("1 of 2", "One. Two.", 30, "B breaks it.") == "One. Two. B breaks it."
    assert fitting("1 of 2", "One. Two.", 30, "B breaks it. " * 20) == "One. Two."
    assert fitting("1 of 2", f"One. {'Two ' * 40}.", 30, "B breaks it.") == "One. …"


@pytest.mark.parametrize("size", [SMALL, WIDE] if crossing.all_combinations else [SMALL])
@pytest.mark.slow
async def test_a_tour_runs_its_stops_and_obeys_the_keys_of_a_clicker(size: tuple[int, int]):
    tour = Tour(BOTH)
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: at(app, TWO[0]))
        await until(pilot, lambda: "1 of 2" in banner(app) and loaded(TWO[0]).title in banner(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: at(app, TWO[1]))
        await until(pilot, lambda: "2 of 2" in banner(app))
        await pilot.press("greater_than_sign")
        assert any("the last stop" in note.message for note in app._notifications)
        await pilot.press("less_than_sign")
        await until(pilot, lambda: at(app, TWO[0]))
        await pilot.press("pageup")
        assert any("the first stop" in note.message for note in app._notifications)
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")
        await until(pilot, lambda: "64 0.012 0.023" in banner(app))
        labels = [str(label.render()) for label in app.laboratory.query("Banner Label").results(Label)]
        assert ("at k = 64" in labels, "E: loss/bound" in labels) == (size == SMALL, size == SMALL)
        await until(pilot, lambda: "below a tenth after 30 examples" in screen_text(app))
        assert "> Next" in screen_text(app)
        assert "< Back" in screen_text(app)


@pytest.mark.slow
async def test_open_pages_scroll_on_a_tour_and_panels_name_the_scroll_key():
    tour = Tour(BOTH)
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: at(app, TWO[0]))
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help))
        page = app.screen.query_one(Words)
        await until(pilot, lambda: page.max_scroll_y > 0)
        await pilot.press("pagedown")
        await until(pilot, lambda: page.scroll_y > 0)
        assert at(app, TWO[0])
        await pilot.press("escape", "3")
        words = app.laboratory.query_one(PanelWords)
        await until(pilot, lambda: "ctrl+d reads on" in screen_text(app))
        assert "pgdn goes to the next stop" in screen_text(app)
        assert "pgdn reads on" not in screen_text(app)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: words.scroll_y > 0)
        assert at(app, TWO[0])
        await pilot.press("pagedown")
        await until(pilot, lambda: at(app, TWO[1]))


@pytest.mark.parametrize("panel", ["story", TABLE])
async def test_the_screen_shows_the_title_once_during_a_run(panel: str):
    app, title = HadamardApp(EditableExperiment.of(TWO[1]), autorun=True), loaded(TWO[1]).title
    async with app.run_test(size=WIDE) as pilot:
        app.laboratory.query_one(Stage).choose(panel)
        await until(pilot, lambda: (now := app.laboratory.look) is not None and now.x)
        await pilot.press("space")
        await until(pilot, lambda: session_of(app).state == "paused")
        await until(pilot, lambda: " ".join(screen_text(app).split()).count(title) == 1)
        caption = str(app.laboratory.query_one(Caption).render())
        assert caption == ("" if panel == "story" else title)


@pytest.mark.parametrize("line", ["", "What the speaker says."])
@pytest.mark.slow
async def test_a_tour_shows_the_title_below_the_chart_if_the_banner_lacks_room(line: str):
    tour = Tour([Stop(TWO[1], line=line)])
    title = loaded(TWO[1]).title
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: (now := app.laboratory.look) is not None and now.x)
        await pilot.press("space")
        await until(pilot, lambda: session_of(app).state == "paused")
        caption = app.laboratory.query_one(Caption)
        assert app.laboratory.query_one(Banner).has_title(title) == (not line)
        await until(pilot, lambda: str(caption.render()) == (title if line else ""))


async def test_a_stop_shows_its_panel_and_the_numbers_of_the_frame():
    tour = Tour((Stop("hadamard-128"), Stop("hadamard-128-weights", "weights")))
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        stage = app.laboratory.query_one(Stage)
        await until(pilot, lambda: at(app, TWO[0]))
        assert stage.chosen == TABLE
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: at(app, "hadamard-128-weights"))
        assert stage.chosen == "weights"
        await until(pilot, lambda: (now := app.laboratory.look) is not None and now.x)
        app.laboratory._draw_frame()
        shown = app.laboratory.query_one("#seen Digits", Digits).value
        assert shown == f"{app.laboratory.look.x:g}"
        await pilot.press("less_than_sign")
        await until(pilot, lambda: at(app, TWO[0]))
        assert stage.chosen == TABLE


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_numbers_of_the_banner_are_called_what_the_table_calls_them(size: tuple[int, int]):
    small = ('axes=[{name="size", symbol="d", from=16, to=64, log=true}]', "claims=[]")
    tour = Tour((Stop("hadamard-d", changes=small), Stop("hadamard-128-weights")))
    app = HadamardApp(tour.editable, tour=tour)

    def numbers() -> dict[str, str]:
        return {
            str(shown.query_one(Label).render()): shown.query_one(Digits).value
            for shown in app.laboratory.query("Banner Number")
            if shown.display
        }

    async with app.run_test(size=size) as pilot:
        await pilot.press("f")
        await until(pilot, lambda: app.laboratory.session is not None and session_of(app).over)
        await until(pilot, lambda: numbers().get("d") == "64")
        look = app.laboratory.look
        assert look is not None
        shown_value = looked_at(look, "")
        assert shown_value is not None
        assert shown_value.ratio is not None
        name = f"{shown_value.mark}: k/bound" if size == SMALL else "k / bound"
        assert numbers()[name] == f"{shown_value.ratio:.3f}"
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: at(app, "hadamard-128-weights") and session_of(app).over)
        await until(pilot, lambda: len(numbers()) == 2)
        assert not any("bound" in label or "loss" in label for label in numbers()), "it has no line"


async def test_the_banner_calls_a_loss_that_stays_high_never_as_the_table_does():
    axes = 'axes=[{name="size", symbol="d", from=16, to=64, log=true}]'
    learners = 'learners=[{name="GD", architecture="linear", update={kind="gd", lr=1e-7}}]'
    tour = Tour([Stop("hadamard-d", changes=(axes, learners, "claims=[]"))])
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("f")
        await until(pilot, lambda: app.laboratory.session is not None and session_of(app).over)
        await until(pilot, lambda: app.laboratory.query_one("#best Digits", Digits).value == "never")


@pytest.mark.slow
async def test_the_banner_shows_the_numbers_of_the_current_frame():
    tour = Tour((Stop("hadamard-128"),))
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.press("f")
        await until(pilot, lambda: session_of(app).state == "finished")
        seen, session = app.laboratory.query_one("#seen Digits", Digits), session_of(app)
        for record in (64, 16, 128, 0):
            session.playback.seek(record)
            app.laboratory._draw_frame()
            assert seen.value == str(record)
        session.playback.replay()
        app.laboratory._ticked -= 1.0  # as long as ago the last frame was
        app.laboratory._draw_frame()
        assert app.laboratory.look is not None
        assert seen.value == f"{app.laboratory.look.x:g}" != "0"


@pytest.mark.slow
async def test_an_unattended_tour_advances_and_restarts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guide, "REST", 0.1)
    small = ("problem.matrix.d=16", "learners.GD.update.lr=0.03125", "claims=[]")
    tour = Tour([Stop(TWO[0], changes=(*small, f"run.seed={seed}")) for seed in (0, 1)], alone=True)
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("f")
        for seed in (1, 0):
            await until(
                pilot,
                lambda seed=seed: (session := app.laboratory.session) and session.experiment.run.seed == seed,
            )


async def test_clicker_keys_without_a_tour_open_no_stop(app: HadamardApp):
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("pagedown", "greater_than_sign")
        assert not app.laboratory.query(Banner)
        assert "> Next" not in screen_text(app)


@pytest.mark.parametrize("size", [SMALL, WIDE] if crossing.all_combinations else [WIDE])
@pytest.mark.slow
async def test_the_first_start_offers_three_presets_and_runs_the_chosen_preset(
    editable: EditableExperiment, size: tuple[int, int]
):
    app = HadamardApp(editable, first=True)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Welcome))
        options = app.screen.query_one(OptionList)
        offered = [option.id for option in options.options if option.id]
        assert (offered, len(FIRST), len(paths())) == ([*FIRST, *paths(), NEW, OWN_TABLE], 3, 7)
        await until(pilot, lambda: all(talks()[talk_name].title in screen_text(app) for talk_name in paths()))
        await until(
            pilot,
            lambda: (
                (text := screen_text(app)) and all(loaded(preset_name).title in text for preset_name in FIRST)
            ),
        )
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: at(app, FIRST[2]))
        assert app.laboratory.query_one(Stage).panel is story.PANEL, (
            "which says what there is to see, and why"
        )


@pytest.mark.slow
async def test_choosing_a_path_on_the_first_start_opens_its_first_stop(editable: EditableExperiment):
    app = HadamardApp(editable, first=True)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Welcome))
        await pilot.press("end", "up", "up", "enter")
        await until(pilot, lambda: app.laboratory.query(Banner))
        await until(pilot, lambda: "1 of 7 · predict" in banner(app))
        assert app.laboratory.editable.preset == talks()["parities"].stops[0].preset


@pytest.mark.drawn
@pytest.mark.slow
async def test_the_footer_keys_work_on_the_first_start(editable: EditableExperiment):
    app = HadamardApp(editable, first=True)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Welcome))
        await until(pilot, lambda: "r Run" in screen_text(app))
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help))
        await pilot.press("escape", "down", "down", "r")
        await until(pilot, lambda: at(app, FIRST[2]))
        app.push_screen(Welcome())
        await until(pilot, lambda: isinstance(app.screen, Welcome) and app.screen.query(OptionList))
        before = app.theme
        await pilot.press("t")
        await until(pilot, lambda: app.screen is app.laboratory and app.theme != before)


async def test_escape_closes_the_welcome_page_without_a_run(editable: EditableExperiment):
    app = HadamardApp(editable, first=True)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Welcome))
        await pilot.press("escape")
        assert app.screen is app.laboratory
        assert app.laboratory.session is None


async def test_an_empty_chart_names_the_event_it_waits_for(app: HadamardApp, monkeypatch: pytest.MonkeyPatch):
    held = threading.Event()
    monkeypatch.setattr(worker, "load_torch_for", lambda sweep, threads: held.wait(60))
    async with app.run_test(size=WIDE) as pilot:
        chart = app.laboratory.query_one("#loss", ChartView)
        await pilot.press("r")
        await until(pilot, lambda: chart.hint == WORDS["loading engine"])
        assert "loading engine" in screen_text(app)
        await pilot.press("h")
        assert session_of(app).state == "stopped", "it does not wait for the engine to be loaded"
        held.set()
        await until(pilot, lambda: chart.hint == WORDS["stopped"].format(run="r"))
