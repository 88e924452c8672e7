"""Private names of Textual that hadamard_tui/terminal/textual_internals.py uses.

A test that fails after an update of Textual shows which name has changed, or is no longer needed.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest
from textual import constants, events
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.css.scalar import Scalar
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Static

from hadamard_tui.terminal.textual_internals import (
    FailingApp,
    RestingScreen,
    SelectiveScreen,
    TerminalParser,
    driver_of,
    forget_drawn_widgets,
    lay_out,
    notifications_of,
    remove_answers,
)

from .conftest import until
from .terminal import Terminal

pytestmark = pytest.mark.drawn


async def test_an_app_writes_to_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    app, written = App[None](), list[str]()
    assert driver_of(app) is None
    async with app.run_test():
        driver = driver_of(app)
        assert driver is not None
        monkeypatch.setattr(driver, "write", written.append)
        app.copy_to_clipboard("a word")
    assert any("YSB3b3Jk" in text for text in written), "base64 of the word"


async def test_messages_of_an_app_are_listed_until_they_are_cleared() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        app.notify("first")
        await pilot.pause()
        assert [notification.message for notification in notifications_of(app)] == ["first"]
        app.clear_notifications()
        assert not [*notifications_of(app)]


async def test_answers_are_removed_and_warnings_stay() -> None:
    app = App[None]()
    async with app.run_test(notifications=True) as pilot:
        app.notify("answer")
        app.notify("warning", severity="warning")
        await pilot.pause()
        remove_answers(app)
        assert [notification.message for notification in notifications_of(app)] == ["warning"]
        await until(pilot, lambda: len(app.screen.query("Toast")) == 1)


OTHER_OUTPUT = """
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Static
from hadamard_tui.terminal.textual_internals import replace_output

class Changed:
    def __init__(self, file):
        self.file, self.flush, self.fileno = file, file.flush, file.fileno
    def write(self, text):
        return self.file.write(text.replace("small", "large"))

class Driver(LinuxDriver):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.output = replace_output(self, Changed)

class Small(App):
    def compose(self):
        yield Static("small words")
    def on_key(self):
        self.exit()

Small(driver_class=Driver).run()
"""


@pytest.mark.slow
def test_a_driver_writes_to_the_file_that_replaces_its_own(tmp_path: Path) -> None:
    terminal = Terminal(script=OTHER_OUTPUT)
    terminal.shows("large words")
    terminal.press(b"x")
    assert terminal.end() == 0


async def test_lay_out_updates_a_screen_immediately() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        first, second = Static("first"), Static("second")
        await app.mount(first, second)
        await pilot.pause()
        assert second.region.y == 1
        first.display = False
        assert second.region.y == 1, "Textual lays out later"
        lay_out(app.screen)
        assert second.region.y == 0


@pytest.mark.slow
async def test_drawings_of_removed_widgets_stay_in_memory_until_they_are_discarded() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        drawn: list[weakref.ref[object]] = []
        for number in range(8):
            label = Static(f"number {number}")
            await app.mount(label)
            await pilot.pause()
            drawn.append(weakref.ref(label._styles_cache))
            await label.remove()
            del label
        gc.collect()
        assert sum(cache() is not None for cache in drawn) > 1, "Textual forgets them by itself now"
        forget_drawn_widgets()
        gc.collect()
        assert sum(cache() is not None for cache in drawn) <= 1


async def test_a_parser_waits_only_after_a_lone_escape() -> None:
    parser = TerminalParser()
    assert not parser.is_waiting
    assert [*parser.feed("a")]
    assert not parser.is_waiting
    assert not [*parser.feed("\x1b")]
    assert parser.is_waiting
    await asyncio.sleep(constants.ESCAPE_DELAY)
    (key,) = parser.tick()
    assert isinstance(key, events.Key)
    assert key.key == "escape"
    assert not parser.is_waiting


class Broken(Static, can_focus=True):
    """Widget that fails at every key."""

    def on_key(self) -> None:
        raise ValueError("a defect")


class Fragile(FailingApp):
    """An app with a broken widget, which counts how it ends."""

    def __init__(self, ends: bool) -> None:
        super().__init__()
        self.ends = ends
        self.errors: list[Exception] = []
        self.panics: list[tuple[object, ...]] = []

    def fails_by(self, error: Exception) -> bool:
        self.errors.append(error)
        return self.ends

    def panic(self, *renderables: object) -> None:
        self.panics.append(renderables)
        super().panic()

    def compose(self) -> ComposeResult:
        yield Broken("broken")


async def press_a_key(app: Fragile) -> None:
    async with app.run_test() as pilot:
        app.query_one(Broken).post_message(events.Key("x", "x"))
        await until(pilot, lambda: app.errors)
        await asyncio.sleep(0.1)


async def test_an_uncaught_exception_ends_an_app_without_a_traceback_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = Fragile(ends=True)
    with pytest.raises(ValueError, match="a defect"):
        await press_a_key(app)
    assert [str(error) for error in app.errors] == ["a defect"]
    assert app.return_code == 1
    assert app.panics == [()]
    assert capsys.readouterr().err == ""


async def test_an_app_can_ignore_an_exception() -> None:
    app = Fragile(ends=False)
    await press_a_key(app)
    assert [str(error) for error in app.errors] == ["a defect"]
    assert app.return_code is None
    assert not app.panics


class Selecting(SelectiveScreen, Screen[None]):
    """A screen that drops each message of a button that is in its queue after the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.pressed = 0

    def compose(self) -> ComposeResult:
        yield Button()

    def accepts(self, message: Message) -> bool:
        return not (self.pressed and isinstance(message, Button.Pressed))

    def on_button_pressed(self) -> None:
        self.pressed += 1


async def test_a_screen_drops_a_repeated_message_of_a_widget_in_its_queue() -> None:
    app, screen = App[None](), Selecting()
    async with app.run_test() as pilot:
        await app.push_screen(screen)
        button = screen.query_one(Button)
        for _ in range(2):
            screen.post_message(Button.Pressed(button))
        await pilot.pause()
        assert screen.pressed == 1


class Plain(Screen[None]):
    """A screen that counts how often it is repainted."""

    repaints = 0

    def compose(self) -> ComposeResult:
        yield Static("below")

    def _compositor_refresh(self) -> None:
        self.repaints += 1
        super()._compositor_refresh()


class Resting(Plain, RestingScreen):
    """Plain screen that rests below others."""


async def repaints_below(screen: Plain) -> int:
    """Count the repaints of a screen below another one by a change and ten messages after it."""
    app = App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(screen)
        await app.push_screen(ModalScreen())
        await pilot.pause()
        screen.repaints = 0
        screen.query_one(Static).update("changed")
        await until(pilot, lambda: screen.repaints)
        for _ in range(10):
            screen.call_later(lambda: None)
            await asyncio.sleep(0.05)
    return screen.repaints


async def test_textual_repaints_a_screen_below_another_screen_for_each_message() -> None:
    assert await repaints_below(Plain()) > 5, "Textual repaints changes alone now"


async def test_a_resting_screen_below_another_screen_repaints_only_its_changes() -> None:
    assert await repaints_below(Resting()) == 1


class Row(Screen[None]):
    """Two texts beside each other, with an empty cell between them."""

    CSS = "Static { width: 4; margin: 0 1 0 0; }"

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("aaaa", id="first")
            yield Static("bbbb", id="second")


class RestingRow(Row, RestingScreen):
    """Row in a resting screen."""


async def repainted_columns_after_a_lookup(screen: Row) -> set[int]:
    """Narrow the first text, look a widget up before the layout, and return the columns painted then."""
    app = App[None]()
    async with app.run_test(size=(20, 3)) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        first, compositor = screen.query_one("#first"), screen._compositor
        first.styles._inline_styles.set_rule("width", Scalar.parse("2"))  # no repaint of its own
        for widget in (screen, *screen.query("*")):
            widget._clear_arrangement_cache()
        compositor._full_map_invalidated = True
        screen.find_widget(first)
        compositor.reflow(screen, screen.size)
        regions = list(compositor._dirty_regions)
        return {column for region in regions if region.y == 0 for column in region.column_range}


async def test_textual_does_not_repaint_cells_moved_by_a_lookup() -> None:
    assert not await repainted_columns_after_a_lookup(Row()), "Textual compares with what it painted now"


async def test_a_resting_screen_repaints_cells_moved_by_a_lookup() -> None:
    assert await repainted_columns_after_a_lookup(RestingRow()) >= set(range(9))
