"""Keys and clicks faster than the app: none ends the app, and none acts twice."""

from __future__ import annotations

import asyncio
import gc
import pkgutil
import threading
import weakref
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
from textual import events
from textual._styles_cache import StylesCache
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen
from textual.widgets import OptionList, Static
from textual.widgets._toast import Toast, ToastHolder

from engine.runtime.worker import Failed
from hadamard_tui import screens
from hadamard_tui.app import HadamardApp
from hadamard_tui.colours.themes import after
from hadamard_tui.editing.editable_experiment import EditableExperiment
from hadamard_tui.running.session import Session
from hadamard_tui.screens.browser import Browser, NewExperiment
from hadamard_tui.screens.commands import Commands
from hadamard_tui.screens.diagnosis import DiagnosisPage
from hadamard_tui.screens.export import Export
from hadamard_tui.screens.help import Help, PartPage, Welcome
from hadamard_tui.screens.jump import Jump
from hadamard_tui.screens.modal import Blank, Failure, Framed, Modal
from hadamard_tui.screens.own_table import OwnTable
from hadamard_tui.screens.run_comparison import Renaming
from hadamard_tui.screens.theory_page import page_of
from hadamard_tui.state.state_file import KeptView
from hadamard_tui.widgets.scoreboard import Scoreboard
from hadamard_tui.widgets.setup import SetupPane

from .conftest import SMALL, until

pytestmark = pytest.mark.slow


@pytest.fixture
def app(editable: EditableExperiment) -> HadamardApp:
    """App without the set-up, whose two hundred widgets these tests do not use."""
    return HadamardApp(editable, view=KeptView(setup_hidden=True))


def post(app: App[None], *keys: str) -> None:
    """Post keys as the terminal thread does: all of them while the app handles the first."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 else key
        app.post_message(events.Key(name, key if len(key) == 1 else None))


def click(app: App[None], x: int, y: int, times: int = 2) -> None:
    """Post clicks without waiting between them."""
    for _ in range(times):
        for kind in (events.MouseDown, events.MouseUp):
            app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))


async def settled(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until the app has handled everything that was posted."""
    for _ in range(3):
        await pilot.pause()


PAGES: list[tuple[str, Callable[[HadamardApp], Screen[object]], list[str]]] = [
    ("commands", lambda app: Commands(), ["escape", "enter"]),
    ("export", lambda app: Export(app._shown_state, "x.csv", app.files), ["escape", "enter"]),
    ("renaming", lambda app: Renaming("run 1"), ["escape", "enter"]),
    ("welcome", lambda app: Welcome(), ["escape", "enter"]),
    ("newexperiment", lambda app: NewExperiment(), ["escape", "enter"]),
    ("owntable", lambda app: OwnTable(), ["escape", "enter"]),
    ("diagnosispage", lambda app: DiagnosisPage("/nowhere/x.csv", "y"), ["escape", "enter"]),
    ("help", lambda app: Help(), ["escape", "?"]),
    ("failure", lambda app: Failure("Traceback\nValueError: no"), ["escape"]),
    ("partpage", lambda app: PartPage("theory", "ri-permuted"), ["escape", "enter"]),
    ("theorypage", lambda app: page_of([]), ["escape"]),
    ("blank", lambda app: Blank(), ["escape", "x"]),
    ("jump", lambda app: Jump(app.laboratory), ["escape", "1", "a"]),
    ("browser", lambda app: Browser("hadamard-128"), ["escape", "enter"]),
]  # fmt: skip


async def test_repeated_keys_close_a_page_once(
    app: HadamardApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        for name, make, keys in PAGES:
            for key in keys:
                answers: list[object] = []
                app.push_screen(make(app), answers.append)
                await settled(app, pilot)
                post(app, *[key] * 5)
                await settled(app, pilot)
                if app.screen is not app.laboratory:  # what the key does here is no closing
                    post(app, *["escape"] * 5)
                    await settled(app, pilot)
                assert app.screen_stack == [app.laboratory], (name, key)
                assert len(answers) <= 1, (name, key)


def test_every_page_class_has_a_closing_test() -> None:
    names = {module.name for module in pkgutil.iter_modules(screens.__path__, f"{screens.__name__}.")}
    classes = [
        member for name in names for member in vars(import_module(name)).values() if isinstance(member, type)
    ]
    pages = {page for page in classes if issubclass(page, ModalScreen) and page.__module__ in names} - {
        Modal,
        Framed,
    }
    assert all(issubclass(page, Modal) for page in pages)
    assert {page.__name__.lower() for page in pages} == {name for name, *_ in PAGES}


async def test_repeated_enter_runs_a_command_once(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        theme = app.theme
        post(app, ":")
        await until(pilot, lambda: isinstance(app.screen, Commands) and app.screen.has_class("-ready"))
        post(app, *"Theme")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        post(app, *["enter"] * 6)
        await settled(app, pilot)
        assert app.screen is app.laboratory
        assert app.theme == after(theme)


async def test_a_palette_can_be_closed_before_it_is_mounted(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        for waits in range(12):  # somewhere between being asked for and being there
            app.push_screen(palette := Commands())
            for _ in range(waits):
                await asyncio.sleep(0)
            palette._action_escape()
            await settled(app, pilot)
            assert app.screen is app.laboratory


async def test_the_palette_can_reopen_while_it_is_being_closed(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        for _ in range(3):
            app.action_command_palette()
            await settled(app, pilot)
            palette = app.screen
            assert isinstance(palette, Commands)
            palette.dismiss()
            app.action_command_palette()
            await settled(app, pilot)
            assert isinstance(app.screen, Commands)
            app.screen.dismiss()
            await settled(app, pilot)


@pytest.mark.parametrize("waits", [0, 5, 10])
async def test_an_app_can_end_while_the_palette_is_being_composed(app: HadamardApp, waits: int):
    async with app.run_test(size=SMALL):
        app.push_screen(Commands())
        for _ in range(waits):
            await asyncio.sleep(0)


async def test_clicks_on_the_palette_and_beside_it_close_it_once(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        for x, y in ((1, 20), (20, 8)):
            post(app, ":")
            await until(pilot, lambda: isinstance(app.screen, Commands) and app.screen.has_class("-ready"))
            click(app, x, y, times=4)
            await settled(app, pilot)
            assert app.screen is app.laboratory


async def test_closing_the_top_page_keeps_the_page_below(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        app.push_screen(below := Help())
        app.push_screen(above := Failure("ValueError: no"))
        await settled(app, pilot)
        below.dismiss()
        await settled(app, pilot)
        assert app.screen_stack == [app.laboratory, below, above]
        post(app, "escape")
        await settled(app, pilot)
        assert app.screen_stack == [app.laboratory, below]
        post(app, "escape")
        await settled(app, pilot)
        assert app.screen_stack == [app.laboratory]


async def test_repeated_enter_writes_a_file_once(
    app: HadamardApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        app.push_screen(Export(app._shown_state, "x.toml", app.files))
        await settled(app, pilot)
        post(app, *["enter"] * 5)
        await settled(app, pilot)
        await until(pilot, lambda: app._notifications)
        assert [note.message for note in app._notifications] == [f"Wrote {tmp_path / 'x.toml'}"]


async def test_rapid_keys_in_the_table_select_the_last_learner_with_few_updates(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
):
    selected: list[int] = []
    pick = SetupPane.pick

    def counted(setup: SetupPane, number: int) -> None:
        selected.append(number)
        if len(selected) < 20:
            pick(setup, number)

    monkeypatch.setattr(SetupPane, "pick", counted)
    async with app.run_test(size=SMALL) as pilot:
        table = app.laboratory.query_one(Scoreboard)
        table.focus()
        await settled(app, pilot)
        selected.clear()
        post(app, "down", "down", "up")
        for _ in range(100):
            await asyncio.sleep(0.005)
        assert len(selected) <= 3
        assert table.cursor_row == app.laboratory.query_one(SetupPane).learner > 0


async def test_up_in_a_table_without_rows_keeps_the_selected_learner(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        table = app.laboratory.query_one(Scoreboard)
        table.focus()
        await settled(app, pilot)
        table.name_learners({}, {})
        await pilot.press("up")
        assert app.laboratory.query_one(SetupPane).learner == 0


async def test_actions_of_removed_widgets_are_dropped(app: HadamardApp):
    async with app.run_test(size=SMALL):
        gone, look = Static(), app.theme
        await app.laboratory.mount(gone)
        await gone.remove()
        assert await app.run_action("app.theme", gone)
        assert app.theme == look


async def message(app: HadamardApp, pilot: Pilot[None], text: str) -> None:
    """Show a message and remove it before its toast is ready."""
    app.notify(text)
    await until(pilot, lambda: app.screen.query(Toast))
    (told,) = app._notifications
    app._unnotify(told)
    await until(pilot, lambda: not app.screen.query(Toast))


async def test_messages_leave_at_most_one_toast_holder(app: HadamardApp):
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        for number in range(6):
            await message(app, pilot, f"message {number}")
        assert len(app.screen.query(ToastHolder)) <= 1


@pytest.mark.drawn
async def test_drawings_of_removed_widgets_are_discarded_after_the_next_run(app: HadamardApp):
    async with app.run_test(size=SMALL) as pilot:
        drawn: list[weakref.ref[StylesCache]] = []
        for number in range(8):
            label = Static(f"number {number}")
            await app.laboratory.mount(label)
            await pilot.pause()
            drawn.append(weakref.ref(label._styles_cache))
            await label.remove()
            del label
        app.laboratory.action_run()
        await until(pilot, lambda: cast(Session, app.laboratory.session).ended)
        gc.collect()
        assert sum(reference() is not None for reference in drawn) <= 1


def test_events_of_the_engine_after_the_end_of_the_app_are_ignored(app: HadamardApp):
    """An app that fails drops its screens at once, while the engine thread may still work."""
    failures: list[BaseException] = []

    def speak() -> None:
        try:
            app.laboratory._post_event(cast(Session, None), Failed("Traceback"))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=speak)
    thread.start()
    thread.join()
    assert not failures
