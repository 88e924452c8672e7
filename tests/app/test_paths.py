"""The guided paths and talks that come with the program, and a walk along one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from code_blocks import blocks
from rich.console import Console
from textual.widgets import Digits, Static

from engine.core.parts import BadInput
from engine.spec import presets
from hadamard_tui import tours
from hadamard_tui.app import HadamardApp
from hadamard_tui.headless.compute import computed
from hadamard_tui.tours import Break, Stop, Tour, broken
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.side import AFTER_THE_RUN
from tests.slow.commits import turn

from .conftest import SMALL, WIDE, until
from .test_runs import screen_text, session_of
from .test_tour import banner

pytestmark = pytest.mark.set_up("empty")

PATHS = [*tours.paths()]


@cache
def stops(talk_name: str) -> list[Stop]:
    path_stops = tours.stops_of(talk_name)
    assert path_stops is not None
    return path_stops


@pytest.mark.slow
@pytest.mark.parametrize("talk_name", tours.shipped_talks())
def test_every_talk_loads_with_more_than_five_stops(talk_name: str) -> None:
    assert len(stops(talk_name)) > 5


@pytest.mark.parametrize("talk_name", PATHS)
def test_every_stop_of_a_path_has_four_steps_and_an_existing_preset(talk_name: str) -> None:
    path = tours.talks()[talk_name]
    assert 6 <= len(path.stops) <= 9
    for stop in path.stops:
        assert stop.preset in presets.names()
        assert all((stop.predict, stop.line, stop.learns))
        assert stop.break_ is not None
        assert stop.break_.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "talk_name", [talk_name for talk_name in tours.shipped_talks() if talk_name != tours.ESSENTIALS]
)
def test_every_stop_outside_the_essentials_asks_for_a_prediction(talk_name: str) -> None:
    assert [stop.preset for stop in stops(talk_name) if not stop.predict] == []


def test_a_stop_borrows_a_question_only_if_its_talk_asks_questions(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.toml"
    stops = '{{ preset = "hadamard-128" }}, {{ preset = "hadamard-128", set = ["run.seed=1"] }}'
    text = f'title = "T"\nasks = {{}}\nstops = [{stops}]'
    for asks, question in (("true", tours.question_at("hadamard-128")), ("false", "")):
        file.write_text(text.format(asks), encoding="utf-8")
        unchanged, changed = tours.stops_of(str(file)) or []
        assert (unchanged.predict, changed.predict) == (question, "")
    assert "gradient descent" in tours.question_at("hadamard-128")


def test_all_stops_except_digits_rotated_have_a_break() -> None:
    stops = {stop.preset: stop for read in tours.talks().values() for stop in read.stops}
    without = [
        talk_name for talk_name, stop in stops.items() if not (stop.break_ or tours.break_at(talk_name))
    ]
    assert without == ["digits-rotated"], "no rule that was tried learns digits better along their pixels"


BREAKS = [
    pytest.param(talk_name, number, id=f"{talk_name}-{stop.preset}")
    for talk_name, read in tours.talks().items()
    for number, stop in enumerate(read.stops)
    if stop.break_ is not None
]
"""All stops with a change that breaks the theorem. Each commit computes another eighth of them."""


@pytest.mark.slow
@pytest.mark.parametrize(("talk_name", "number"), turn(BREAKS, commits=8))
def test_every_claim_of_a_break_holds(talk_name: str, number: int) -> None:
    stop = stops(talk_name)[number]
    assert stop.breaks is not None
    done = computed(stop.preset, broken(stop, stop.breaks), Console(quiet=True), fresh=True)
    assert [(outcome.holds, outcome.detail) for outcome in done.outcomes if not outcome.holds] == []
    assert done.outcomes


@pytest.mark.parametrize("talk_name", sorted(tours.talks()))
def test_a_broken_learner_is_named_gd_only_with_plain_gradient_steps(talk_name: str) -> None:
    for stop in stops(talk_name):
        document = {} if stop.breaks is None else broken(stop, stop.breaks)
        for learner in document.get("learners", []):
            if learner.get("name") == "GD":
                assert not learner.get("solver"), stop.preset
                kinds = {
                    field: part if isinstance(part, str) else part["kind"]
                    for field in ("update", "architecture")
                    if (part := learner.get(field)) is not None
                }
                assert kinds.get("update", "gd") == "gd", stop.preset
                assert kinds.get("architecture") != "spindly", stop.preset


SIXTEEN = ("problem.matrix.d=16", "learners.EGU.update.lr=0.3", "claims=[]")
CHANGE = Break(
    set=("learners.GD.update.lr=0.01",),
    claim={"kind": "value", "curve": "GD", "at": 16, "above": 0.1, "text": "A is slower."},
)


@pytest.mark.slow
async def test_a_stop_leads_from_guess_to_run_reason_and_break() -> None:
    stop = Stop(
        "hadamard-128", None, "Rows are orthogonal.", SIXTEEN, "When is A below a tenth?", CHANGE, ("GD",)
    )
    tour = Tour((stop, Stop("zero-one-128")))
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.laboratory.query(Banner))
        await until(pilot, lambda: "1 of 2 · predict" in banner(app) and stop.predict in banner(app))
        assert app.laboratory.session is None, "nothing runs before the guess"
        await pilot.press("f", "g", "end", "left", "enter")
        await until(pilot, lambda: "1 of 2 · why" in banner(app) and "Rows are orthogonal." in banner(app))
        await until(pilot, lambda: "score 1/1" in banner(app))
        await pilot.press("B")
        await until(pilot, lambda: "1 of 2 · broken" in banner(app) and "A is slower." in banner(app))
        rates = [learner.update.lr for learner in session_of(app).experiment.learners if learner.name == "GD"]
        assert rates == [0.01]
        assert tour.score == (1, 1)
        await pilot.press("backspace")
        await until(pilot, lambda: "1 of 2 · predict" in banner(app))
        await pilot.press("greater_than_sign", "greater_than_sign")
        await until(pilot, lambda: any("1 of 1 guesses" in note.message for note in app._notifications))


@pytest.mark.parametrize("talk_name", sorted(tours.talks()))
def test_a_question_about_a_tenth_names_exactly_the_learners_to_guess(talk_name: str) -> None:
    for stop in stops(talk_name):
        letters = {f"({letter})" for letter in "ABCDEFGH" if f"({letter})" in stop.predict}
        experiment = presets.load(stop.preset, stop.changes)
        names = [learner.name for learner in experiment.learners]
        if "a tenth" in stop.predict:
            assert stop.guess, stop.preset
        if stop.guess and letters:
            assert letters == {f"({'ABCDEFGH'[names.index(learner_name)]})" for learner_name in stop.guess}


def test_a_guess_about_a_missing_learner_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "T"\nstops = [{ preset = "hadamard-128", guess = ["Adam"] }]', encoding="utf-8")
    with pytest.raises(BadInput, match=r"stops\[0\].guess: there is no learner 'Adam'; there are GD"):
        tours.stops_of(str(file))


def notes(app: HadamardApp) -> list[str]:
    return [note.message for note in app._notifications]


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_escape_leaves_a_path_and_reopening_it_continues_at_the_same_stop(
    app: HadamardApp, size: tuple[int, int]
) -> None:
    async with app.run_test(size=size) as pilot:
        await app.walk("gradient-descent")
        await until(pilot, lambda: "1 of 8 · predict" in banner(app))
        assert " min" not in banner(app), "only speakers need a clock"
        await until(pilot, lambda: "esc Leave path" in screen_text(app))
        for label in ("> Next", "< Back", "g Predict", "r Run", "B Break it", "? Help", "q Quit"):
            assert label in screen_text(app)
        await pilot.press("g", "escape", "F", "escape")
        assert app.laboratory.query(Banner), "escape leaves a guess or the full chart first"
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "2 of 8" in banner(app))
        await pilot.press("escape")
        await until(pilot, lambda: not app.laboratory.query(Banner))
        assert "You left the path at stop 2 of 8." in notes(app)[-1]
        assert app.laboratory.editable.preset == "hadamard-128-weights"
        await until(pilot, lambda: "esc Leave" not in screen_text(app))
        assert "> Next" not in screen_text(app)
        await app.choose_preset("gradient-descent")
        await until(pilot, lambda: "2 of 8" in banner(app))


async def test_leaving_a_path_shows_the_story_that_a_question_hid(app: HadamardApp) -> None:
    async with app.run_test(size=(200, 60)) as pilot:
        await app.walk("gradient-descent")
        await until(pilot, lambda: AFTER_THE_RUN[:40] in " ".join(screen_text(app).split()))
        await pilot.press("escape")
        await until(pilot, lambda: not app.laboratory.query(Banner))
        words = str(app.laboratory.query_one("Story Static", Static).render())
        assert AFTER_THE_RUN not in words
        assert app.laboratory.editable.experiment.story.split()[-1] in words


async def test_the_palette_offers_to_leave_a_path_but_not_a_talk(app: HadamardApp) -> None:
    def commands() -> dict[str, Any]:
        return {command.title: command.callback for command in app.get_system_commands(app.screen)}

    async with app.run_test(size=SMALL) as pilot:
        assert "Leave path" not in commands()
        await app.walk("gradient-descent")
        await until(pilot, lambda: app.laboratory.query(Banner))
        await commands()["Leave path"]()
        await until(pilot, lambda: not app.laboratory.query(Banner))
        assert "Leave path" not in commands()


async def test_a_stop_with_a_question_hides_its_title_until_the_run() -> None:
    tour = Tour([Stop("hadamard-128", predict="How many?")])
    app, title = HadamardApp(tour.editable, tour=tour), presets.load("hadamard-128").title
    async with app.run_test(size=(200, 60)) as pilot:
        await until(pilot, lambda: "How many?" in screen_text(app))
        text = " ".join(screen_text(app).split())
        assert title[:30] not in text
        assert AFTER_THE_RUN[:40] in text
        await pilot.press("f", "r")
        await until(pilot, lambda: session_of(app).state == "finished")
        await until(pilot, lambda: title[:30] in " ".join(screen_text(app).split()))


async def test_a_changed_stop_shows_the_change_instead_of_the_reason() -> None:
    stop = Stop("hadamard-128", None, "Rows are orthogonal.", SIXTEEN, "How many?", CHANGE)
    tour = Tour([stop])
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.laboratory.query(Banner))
        await until(pilot, lambda: "1 of 1 · predict" in banner(app))
        await pilot.press("f", "r")
        await until(pilot, lambda: "1 of 1 · why" in banner(app))
        await pilot.press("tilde")
        await until(pilot, lambda: "1 of 1 · changed" in banner(app))
        assert "Changed: d = 4 … 64 (5 values)." in banner(app)
        assert "which backspace restores." in banner(app)
        assert "orthogonal" not in banner(app)
        assert "How many" not in banner(app)
        await until(pilot, lambda: session_of(app).state == "finished")
        app.laboratory._draw_frame()
        (shown,) = {float(series.value) for series in app.laboratory.query("#seen Digits").results(Digits)}
        assert shown == app.laboratory.look.shown_at == 64, "the numbers are those of the chart on the screen"
        await pilot.press("backspace")
        await until(pilot, lambda: "1 of 1 · predict" in banner(app))


async def test_a_stop_shows_its_reason_only_beside_its_own_run() -> None:
    stop = Stop("hadamard-128", None, "Rows are orthogonal.", SIXTEEN, "How many?", CHANGE)
    tour = Tour([stop])
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.laboratory.query(Banner))
        await pilot.press("f", "B")
        await until(pilot, lambda: "1 of 1 · broken" in banner(app) and "A is slower." in banner(app))
        await pilot.press("u")
        await until(pilot, lambda: "1 of 1 · predict" in banner(app))
        assert "orthogonal" not in banner(app), "the run of the stop has not begun"
        await pilot.press("r")
        await until(pilot, lambda: "1 of 1 · why" in banner(app) and "orthogonal" in banner(app))


async def test_undo_stops_at_the_set_up_of_a_stop() -> None:
    tour = Tour([Stop("hadamard-128", changes=SIXTEEN, breaks=CHANGE), Stop("zero-one-128", predict="?")])
    app = HadamardApp(tour.editable, tour=tour)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.laboratory.query(Banner))
        await until(pilot, lambda: "1 of 2" in banner(app))
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "2 of 2" in banner(app))
        await pilot.press("less_than_sign")
        await until(pilot, lambda: "1 of 2" in banner(app))
        await pilot.press("B")
        await until(pilot, lambda: "1 of 2 · broken" in banner(app))
        await pilot.press("u")
        await until(pilot, lambda: "1 of 2 · broken" not in banner(app))
        assert notes(app)[-1] == "Undo: GD: update.lr 0.01 → 1/(2d)"
        await pilot.press("u", "u")
        assert notes(app)[-1] == "There is nothing to undo at this stop."
        assert app.laboratory.editable.preset == "hadamard-128"


def test_the_documented_talk_is_valid_and_its_break_holds(tmp_path: Path) -> None:
    (block,) = [block for block in blocks("text") if block.page.endswith("lectures.md")]
    file = tmp_path / "two.toml"
    file.write_text(block.text, encoding="utf-8")
    first, second = tours.stops_of(str(file)) or []
    assert first.breaks is not None
    assert second.breaks == tours.break_at("hadamard-128-weights")
    done = computed(first.preset, broken(first, first.breaks), Console(quiet=True))
    assert all(outcome.holds for outcome in done.outcomes)
