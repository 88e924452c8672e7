"""The program on a real pseudo-terminal: start, run, resize, quit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .terminal import Terminal

pytestmark = pytest.mark.slow

ARGUMENTS = ["--preset", "hadamard-128", "--set", "problem.matrix.d=16", "--set", "claims=[]",
             "--set", "learners.GD.update.lr=0.03125", "--set", "run.device=cpu"]  # fmt: skip


@pytest.fixture
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    started = Terminal(*ARGUMENTS, *getattr(request, "param", ()))
    yield started
    try:
        os.kill(started.pid, signal.SIGKILL)
        os.waitpid(started.pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def test_the_app_starts_runs_resizes_during_the_run_and_quits(terminal: Terminal, own_folders: Path) -> None:
    terminal.shows("r runs it")
    terminal.press(b"r")
    terminal.shows("running")
    for columns, lines, word in (
        (140, 40, "row signs"),
        (50, 10, "50×10 is too small"),
        (200, 60, "label noise"),
    ):
        terminal.resize(columns, lines)
        terminal.shows(word)
    terminal.press(b"f")
    terminal.resize(80, 24)
    terminal.shows("finished")
    terminal.press(b"q")
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.written
    assert b"\x1b[?1049l" in terminal.written, "the terminal is given back as it was"
    assert (own_folders / "xdg_state_home" / "hadamard-tui" / "last.json").is_file()


@pytest.mark.parametrize("terminal", [("--set", "run.path=dense")], indirect=True, ids=["torch"])
def test_ctrl_c_ends_the_app_while_the_engine_loads(terminal: Terminal) -> None:
    terminal.shows("r runs it")
    terminal.press(b"r")
    terminal.shows("Loading the engine")
    terminal.press(b"\x03")
    assert terminal.end() == 0


def test_keys_within_a_paste_are_text(terminal: Terminal) -> None:
    pasted = b"\x1b[200~abc \x1b[31mX \x1b[q\x03 hadamard\x1b[201~"
    terminal.shows("r runs it")
    terminal.press(pasted)
    terminal.press(b"p")
    terminal.shows("esc closes")
    terminal.press(pasted)
    terminal.shows("abc [31mX [q hadamard")
    terminal.press(b"\x03")
    assert terminal.end() == 0


def test_the_last_state_is_restored_and_no_run_begins(terminal: Terminal) -> None:
    terminal.shows("r runs it")
    terminal.press(b"t")
    time.sleep(0.5)
    terminal.press(b"q")
    assert terminal.end() == 0
    again = Terminal()
    again.shows("matrix.d 128 → 16")
    again.press(b"q")
    assert again.end() == 0
    assert b"Traceback" not in again.written


def test_an_idle_screen_below_another_page_sends_almost_nothing(terminal: Terminal) -> None:
    for key, word in ((b"?", "esc closes"), (b"j", "esc to stay")):
        terminal.shows("r runs it")
        terminal.press(key)
        terminal.shows(word)
        for _ in range(2):
            terminal.written = b""
            end = time.monotonic() + 0.8
            while (seconds_left := end - time.monotonic()) > 0:
                terminal.take(seconds_left)
        assert len(terminal.written) < 80 * 24, "less than one picture; the status may have changed"
        terminal.press(b"\x1b")


def test_enter_pressed_during_the_start_chooses_on_the_first_page() -> None:
    started = Terminal(columns=100, lines=30)
    started.press(b"\r")
    started.shows("only after 116")
    started.press(b"q")
    assert started.end() == 0
