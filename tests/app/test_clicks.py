"""Clicks on what is not there any more."""

from __future__ import annotations

from textual import events
from textual.widgets import Label

from hadamard_tui.app import HadamardApp

from .conftest import WIDE


async def test_a_click_on_what_has_just_been_removed_does_nothing(app: HadamardApp) -> None:
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
