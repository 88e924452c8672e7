"""Input fields take fast keys in their order."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from hadamard_tui.app import HadamardApp
from hadamard_tui.widgets.controls import Entry

from .conftest import WIDE, opened

pytestmark = pytest.mark.set_up("empty")


class Line(App[None]):
    def compose(self) -> ComposeResult:
        yield Entry("128", select_on_focus=False)


BURSTS = {
    "a b c backspace d": "128abd",
    "home x y end z": "xy128z",
    "ctrl+a ctrl+k p a r t": "part",
    "backspace backspace backspace 2 5 6": "256",
    "left delete 7 enter": "127",
    "shift+home 6 4": "64",
    "ctrl+u 1 ctrl+w 2": "2",
}


@pytest.mark.parametrize(("keys", "value"), BURSTS.items(), ids=BURSTS)
async def test_keys_sent_at_once_act_in_order(keys: str, value: str):
    app = Line()
    async with app.run_test() as pilot:
        entry = app.query_one(Entry)
        entry.focus()
        await pilot.pause()
        for key in keys.split():
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert entry.value == value


@pytest.mark.set_up("filled")
@pytest.mark.slow
async def test_every_input_of_the_app_is_an_entry(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        assert all(isinstance(line, Entry) for line in app.screen.query(Input))
        await pilot.press("e")
        assert all(isinstance(line, Entry) for line in app.screen.query(Input))
