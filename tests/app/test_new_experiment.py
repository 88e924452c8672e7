"""An experiment from nothing: a problem, a learner, a run."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from engine.spec import documents
from hadamard_tui.app import HadamardApp
from hadamard_tui.browsing import beginnings
from hadamard_tui.browsing.preset_list import NEW
from hadamard_tui.screens.browser import NewExperiment
from hadamard_tui.screens.commands import ActionProvider
from hadamard_tui.screens.help import Welcome
from hadamard_tui.widgets.controls import Lines
from hadamard_tui.widgets.setup import SetupPane

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text, session_of

pytestmark = pytest.mark.set_up("empty")


@pytest.mark.slow
def test_every_new_experiment_can_run():
    problems, learners = beginnings.problems(), beginnings.learners()
    assert len(problems) == len(learners) == beginnings.MOST
    for problem in problems:
        for learner in learners:
            experiment = documents.first(beginnings.document(problem, learner))
            assert [only.name for only in experiment.learners] == [learner.name]


async def listed(app: HadamardApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: isinstance(app.screen, NewExperiment))
    await until(
        pilot,
        lambda: any(
            line_list.highlighted == 0 for line_list in app.screen.query("#learner-lines").results(Lines)
        ),
    )


@pytest.mark.slow
async def test_a_new_experiment_is_ready_to_run_and_undone_by_a_single_undo(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        before = app.laboratory.editable.document
        await pilot.press("E")
        await listed(app, pilot)
        await pilot.press("down", "enter", "down", "down", "down", "enter")
        await until(pilot, lambda: app.laboratory.editable.preset is None)
        problem, learner = beginnings.problems()[1], beginnings.learners()[3]
        experiment = app.laboratory.editable.experiment
        assert experiment.title == f"{learner.name} on {problem.title}"
        assert app.laboratory.session is None
        await until(pilot, lambda: "r runs it" in screen_text(app))
        await pilot.press("r")
        await until(pilot, lambda: session_of(app).experiment == experiment)
        await pilot.press("u")
        await until(pilot, lambda: app.laboratory.editable.document == before)


@pytest.mark.slow
async def test_the_welcome_page_and_the_preset_list_can_start_a_new_experiment(app: HadamardApp):
    async with HadamardApp(app.laboratory.editable, first=True).run_test(size=SMALL) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, Welcome))
        assert "Or start from nothing" in screen_text(pilot.app)
        await pilot.press("end", "up", "enter")
        await listed(pilot.app, pilot)
    async with opened(app, WIDE) as pilot:
        await app.choose_preset(NEW)
        await listed(app, pilot)
        await pilot.press("escape")
        assert app.laboratory.editable.preset == "hadamard-128"


async def found(app: HadamardApp, typed: str) -> list[str]:
    """Titles of the commands that the palette finds, the best first."""
    hits = [hit async for hit in ActionProvider(app.laboratory).search(typed)]
    return [str(hit.text) for hit in sorted(hits, key=lambda hit: -hit.score)]


@pytest.mark.parametrize(
    ("typed", "first", "among"),
    [
        ("sweep", "Sweep", ()),
        ("axis", "Add axis", ("Sweep", "Logarithmic x", "Logarithmic y")),
        ("new experiment", "New experiment", ()),
        ("picture", "Picture", ("Add picture", "Export", "Screenshot")),
        ("claim", "Tab: claims", ("Add claim",)),
        ("export", "Export", ()),
        ("undo", "Undo", ()),
    ],
)
async def test_words_find_the_intended_command(
    app: HadamardApp, typed: str, first: str, among: tuple[str, ...]
):
    async with opened(app, SMALL):
        commands = await found(app, typed)
        assert commands[0] == first
        assert set(among) <= set(commands)


@pytest.mark.slow
@pytest.mark.set_up("filled")
async def test_commands_add_an_axis_a_picture_and_a_claim(app: HadamardApp):
    async with opened(app, SMALL) as pilot:
        commands = {command.title: command.callback for command in app.get_system_commands(app.screen)}
        for word, part in (("axis", "axes"), ("picture", "pictures"), ("claim", "claims")):
            count = len(app.laboratory.editable.raw[part])
            await commands[f"Add {word}"]()
            await until(pilot, lambda part=part, count=count: len(app.laboratory.editable.raw[part]) > count)
            assert app.laboratory.query_one(SetupPane).has_focus_within
