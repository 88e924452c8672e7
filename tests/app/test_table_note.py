"""The line below the table explains its signs, and why its numbers are not final."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.widgets.scoreboard import TableNote
from hadamard_tui.widgets.stage import Stage

from .conftest import SMALL, WIDE, opened, until
from .test_runs import screen_text
from .test_time_travel import finished

pytestmark = pytest.mark.set_up("empty")


@pytest.mark.slow
async def test_the_note_below_the_table_explains_brackets_ratio_and_place(app: HadamardApp):
    async with opened(app, (80, 30)) as pilot:
        await finished(app, pilot)
        await told(app, pilot, " (…) not binding · ratio = loss / bound · k = 8, because bounds end near 0")
        await pilot.press("left")
        await told(app, pilot, " (…) a bound that does not bind the learner · ratio = loss / bound")
        await pilot.press("R")
        await until(pilot, lambda: "(…)" not in screen_text(app), subject="the table of no run")


@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["80x24", "120x40"])
@pytest.mark.slow
async def test_the_note_is_hidden_without_the_table(app: HadamardApp, size: tuple[int, int]):
    async with opened(app, size) as pilot:
        await finished(app, pilot)
        note, stage = app.laboratory.query_one(TableNote), app.laboratory.query_one(Stage)
        assert note.display == (size != SMALL)
        await pilot.press("6")
        await until(pilot, lambda: not note.display)
        await pilot.press("1")
        await until(pilot, lambda: stage.chosen == "learners" and note.display == (size != SMALL))


@pytest.mark.slow
async def test_a_preset_without_bounds_shows_no_note_and_opens_no_weights_panel():
    app = HadamardApp(EditableExperiment.of("sine-kernel"))
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await until(pilot, lambda: not app.laboratory.query_one(TableNote).display)
        await until(pilot, lambda: app.laboratory.query_one(Stage).chosen != "weights")
        assert "no weight per feature" not in screen_text(app)


async def told(app: HadamardApp, pilot: Pilot[None], words: str) -> None:
    """Wait until the line below the table has this text."""
    await until(pilot, lambda: words in [line.rstrip() for line in screen_text(app).split("\n")])
