"""Clicks on widgets that are gone."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual import events
from textual.widgets import Label, OptionList

from hadamard_tui.app import HadamardApp
from hadamard_tui.screens.commands import Commands

from .conftest import WIDE, opened


@pytest.mark.slow
async def test_a_click_on_a_removed_widget_does_nothing(app: HadamardApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        label = Label("words that are going to go")
        await app.laboratory.mount(label)
        await pilot.pause()
        x, y = label.region.offset
        with app.batch_update():  # the screen is not laid out anew meanwhile
            await label.remove()
            app.laboratory._forward_event(
                events.MouseDown(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y)
            )
        await pilot.pause()
        assert app.is_running
        assert app.failure is None


@pytest.mark.parametrize("where", ["#learners", "CommandList"])
@pytest.mark.slow
async def test_a_click_on_a_removed_line_does_nothing(app: HadamardApp, where: str) -> None:
    async with opened(app, WIDE) as pilot:
        if where == "CommandList":
            await app.push_screen(Commands())
        lines = app.screen.query_one(where, OptionList)
        lines.clear_options()
        style = Style(meta={"option": 99})
        lines.post_message(events.Click(lines, 0, 0, 0, 0, 1, False, False, False, 0, 0, style))
        await pilot.pause()
        assert app.failure is None
