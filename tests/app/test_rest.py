"""Nothing runs when nothing happens: on every page the event loop waits only for keys and messages."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from benchmarks import tui as benchmark
from engine.pictures.view import KindPlace
from hadamard_tui.app import HadamardApp
from hadamard_tui.colours import palette
from hadamard_tui.panels import ABOUT
from hadamard_tui.screens import guide
from hadamard_tui.screens.diagnosis import DiagnosisPage
from hadamard_tui.screens.help import Welcome
from hadamard_tui.screens.modal import Failure, Modal
from hadamard_tui.terminal.terminal_input import ExitEvent, chunks
from hadamard_tui.tours import Stop, Tour
from hadamard_tui.widgets.banner import Banner
from hadamard_tui.widgets.controls import Entry, NumberEntry
from hadamard_tui.widgets.screen_lines import Status
from hadamard_tui.widgets.setup import SetupPane
from hadamard_tui.widgets.side import RunList, RunRows
from hadamard_tui.widgets.stage import Stage

from .conftest import SMALL, WIDE, opened, until
from .test_runs import session_of
from .test_time_travel import finished

pytestmark = pytest.mark.drawn


def awaited_times() -> list[str]:
    """Delayed calls that the event loop has scheduled."""
    return [str(call) for call in asyncio.get_running_loop()._scheduled if not call.cancelled()]


QUIET_LOOKS = 15
"""Consecutive looks, 0.02 s apart, without a scheduled call; the first field may get the focus after one."""


async def rests(pilot: Pilot[None], subject: str) -> None:
    quiet_looks = 0

    def is_at_rest() -> bool:
        nonlocal quiet_looks
        quiet_looks = 0 if awaited_times() else quiet_looks + 1
        return quiet_looks == QUIET_LOOKS

    await until(pilot, is_at_rest, 20, f"{subject} comes to no rest")


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_no_timer_remains_after_a_run_with_any_panel_open(app: HadamardApp, size: tuple[int, int]):
    async with opened(app, size) as pilot:
        await rests(pilot, "the empty laboratory")
        await finished(app, pilot)
        for number, panel in enumerate(ABOUT, start=1):
            await app.laboratory.run_action(f"panel({number})")
            assert app.laboratory.query_one(Stage).chosen == panel
            await rests(pilot, panel)


@pytest.mark.slow
async def test_no_timer_remains_with_any_page_open(app: HadamardApp):
    seen: set[type[Screen[object]]] = set()
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        pages = {
            "presets": lambda: pilot.press("p"),
            "commands": lambda: pilot.press("colon"),
            "export": lambda: pilot.press("e"),
            "help": lambda: pilot.press("question_mark"),
            "jump": lambda: pilot.press("j"),
            "blank": lambda: pilot.press("full_stop"),
            "rename": lambda: pilot.press("l", "N"),
            "part": lambda: app.show_part("updates", "gd"),
            "failure": lambda: app.push_screen(Failure("Traceback\nValueError: none")),
            "theory": lambda: pilot.press("T"),
            "welcome": lambda: app.push_screen(Welcome()),
            "new experiment": lambda: pilot.press("E"),
            "your data": lambda: pilot.press("O"),
            "diagnosis": lambda: app.push_screen(DiagnosisPage("/nowhere/x.csv", "y")),
        }
        for name, open_page in pages.items():
            if (opening := open_page()) is not None:
                await opening
            await until(pilot, lambda: app.screen is not app.laboratory)
            seen.add(type(app.screen))
            await rests(pilot, name)
            await app.pop_screen()
    assert seen == leaves(Modal)


def leaves(kind: type[Screen[object]]) -> set[type[Screen[object]]]:
    """Page classes of a kind, without base classes of other pages."""
    below = {page for page in kind.__subclasses__() if page.__module__.startswith("hadamard_tui.")}
    return set().union(*map(leaves, below)) if below else {kind}


def test_the_benchmark_opens_every_page_by_its_name():
    opened_by_benchmark = {name for name, _ in benchmark.PAGES.values() if name}
    pages = {page.__name__ for page in leaves(Modal)}
    # `Welcome` is shown at the start of the program, and the page of a diagnosis needs a table.
    assert pages - opened_by_benchmark == {"Welcome", "DiagnosisPage"}
    assert opened_by_benchmark - pages == {RunRows.__name__, NumberEntry.__name__}


@pytest.mark.slow
async def test_no_timer_remains_in_a_field_a_list_or_a_guess(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await pilot.press("l")
        await until(pilot, lambda: app.laboratory.query_one(RunList).has_focus_within)
        await rests(pilot, "the list of runs")
        await pilot.press("l")
        next(entry for entry in app.laboratory.query(Entry) if entry.focusable).focus()
        await until(pilot, lambda: isinstance(app.focused, Entry))
        await rests(pilot, "a field")
        await pilot.press("escape", "g")
        await until(pilot, lambda: app.laboratory.guesses is not None)
        await rests(pilot, "a guess")


@pytest.mark.slow
async def test_a_paused_run_is_at_rest_and_can_resume(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).state == "paused" and session_of(app).playback.shown == 0)
        await rests(pilot, "a paused run")
        await pilot.press("n")
        await until(pilot, lambda: session_of(app).playback.shown == 1)
        await rests(pilot, "a stepped run")
        await pilot.press("f", "space")
        await until(pilot, lambda: session_of(app).state == "finished")


@pytest.mark.slow
async def test_time_at_rest_does_not_advance_the_playback(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await rests(pilot, "the empty laboratory")
        app.laboratory._ticked -= 1000.0
        app.laboratory._pace.factor = 1 / 16  # 96 s to the end, which 1000 s at rest would be beyond
        await pilot.press("r")
        await until(pilot, lambda: app.laboratory.session is not None and session_of(app).trace is not None)
        assert session_of(app).playback.shown < session_of(app).playback.last


@pytest.mark.slow
async def test_a_message_wakes_a_resting_screen_to_show_its_change(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await rests(pilot, "the empty laboratory")
        app.laboratory.query_one(SetupPane).change("problem.matrix.d", 7)
        await until(pilot, lambda: "fix d of the matrix" in str(app.laboratory.query_one(Status).content), 5)


@pytest.mark.slow
async def test_a_resting_tour_wakes_only_for_its_clock(app: HadamardApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guide, "MINUTE", 2.0)
    app._guide = guide.Guide(Tour([Stop("hadamard-128")]), app.laboratory)
    app.laboratory._pace.unlimited = True
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: app.laboratory.session is not None and session_of(app).over)
        await until(pilot, lambda: app.laboratory._is_at_rest)
        shown: list[object] = []
        monkeypatch.setattr(Banner, "show", lambda *facts: shown.append(facts))
        await until(pilot, lambda: app.laboratory._is_at_rest and len(awaited_times()) == 1)
        await until(pilot, lambda: shown, 4)


@pytest.mark.slow
async def test_a_new_theme_repaints_the_complete_screen_of_a_finished_run(app: HadamardApp):
    async with opened(app, WIDE) as pilot:
        await finished(app, pilot)
        await rests(pilot, "the finished run")

        def painted() -> set[str]:
            """Colours of the letters on the screen."""
            styles = [segment.style for row in app.screen._compositor.render_strips() for segment in row]
            return {
                style.color.triplet.hex for style in styles if style and style.color and style.color.triplet
            }

        dark = painted()
        assert dark >= {palette.DARK.of(KindPlace(kind)) for kind in ("gradient", "exact", "sparse")}
        await pilot.press("t")
        await rests(pilot, "the finished run in another theme")
        assert painted().isdisjoint(dark)


def test_a_wait_for_input_ends_only_with_bytes_or_the_event():
    reader, writer = os.pipe()
    ended, received = ExitEvent(), []
    patience: list[float | None] = [None]
    thread = threading.Thread(target=lambda: received.extend(chunks(reader, ended, lambda: patience[0])))
    thread.start()
    os.write(writer, b"ab")
    thread.join(0.3)
    assert received == [b"ab"]
    ended.set()
    thread.join(10)
    assert not thread.is_alive()
    ended.clear()
    patience[0] = 0.01
    waits = chunks(reader, ended, lambda: patience[0])
    assert next(waits) == b""
    os.close(writer)
    assert list(waits) == []
    os.close(reader)


def test_an_event_is_set_before_it_wakes_the_wait():
    ended = ExitEvent()
    reader, writer = os.pipe()
    set_at_the_byte: list[bool] = []

    class Watched:
        def send(self, data: bytes) -> None:
            set_at_the_byte.append(ended.is_set())

    ended._writer, wake_up_writer = Watched(), ended._writer  # type: ignore[assignment]
    ended.set()
    assert set_at_the_byte == [True]
    wake_up_writer.send(b"x")
    assert list(chunks(reader, ended, lambda: None)) == []
    os.close(writer)
    os.close(reader)
