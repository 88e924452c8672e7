"""Random keys, clicks, pastes and resizes, posted faster than the app works: nothing ends it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.widgets import OptionList

from hadamard_tui.app import HadamardApp
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.screens.help import Welcome
from hadamard_tui.state.state_file import KeptView

from .conftest import SMALL, WIDE, opened, until

pytestmark = [pytest.mark.slow, pytest.mark.drawn]

LETTERS = "rrfnhR+-xyzZmbv1234567890][ccllANDadoseSwtj?::.,5"
EDITS = ["left", "right", "home", "end", "shift+left", "delete", "backspace", "up", "down", "down", "space"]
OTHERS = ["pagedown", "pageup", "tab", "shift+tab", "ctrl+p", "ctrl+g", "enter", "enter", "escape", "escape"]
KEYS = [*LETTERS, *EDITS, *OTHERS]
"""All keys except those that quit or write pictures."""
TEXTS = ("[/x]", "\n", "1e400", "nan", "-1", "w" * 300, "0.5, x", "1,2,,", "")
SIZES = (SMALL, WIDE, (200, 60), (60, 16), (10, 3), (1, 1))


def post(app: HadamardApp, rng: random.Random) -> None:
    """Post one random input of a person or a terminal."""
    x, y = rng.randrange(app.size.width), rng.randrange(app.size.height)
    match rng.choices(("key", "click", "wheel", "paste", "resize"), (80, 8, 3, 3, 4))[0]:
        case "key":
            key = rng.choice(KEYS)
            letter = key if len(key) == 1 else None
            app.post_message(events.Key(_character_to_key(key) if letter else key, letter))
        case "click":
            for kind in (events.MouseMove, events.MouseDown, events.MouseUp) * 2:
                app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))
        case "wheel":
            kind = rng.choice((events.MouseScrollUp, events.MouseScrollDown))
            app.post_message(kind(None, x, y, 0, 0, 0, False, False, False, x, y))
        case "paste":
            app.post_message(events.Paste(rng.choice(TEXTS)))
        case "resize":
            size = Size(*rng.choice(SIZES))
            app.post_message(events.Resize(size, size))


async def test_random_keys_do_not_end_the_app(
    editable: EditableExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    rng, app = random.Random(0), HadamardApp(editable)
    async with opened(app, WIDE) as pilot:
        for _ in range(25):
            for _ in range(rng.choice((1, 2, 3, 8))):
                post(app, rng)
            await asyncio.sleep(rng.choice((0, 0.01)))
        await until(pilot, app._message_queue.empty)
        assert app.return_code is None
        app.exit()  # as a person leaves: keys that widgets still hand on are dealt with before the screens go
        assert app._task is not None
        await asyncio.wait([app._task])


async def test_paging_in_a_list_without_room_does_not_end_the_app(editable: EditableExperiment):
    app = HadamardApp(editable, view=KeptView(setup_hidden=True))
    async with app.run_test(size=SMALL) as pilot:
        app.push_screen(page := Welcome())
        await until(pilot, lambda: page.query(OptionList))
        page.query_one(OptionList).styles.height = 0
        await pilot.pause()
        await pilot.press("pagedown", "pageup", "down")
        assert app.return_code is None
