"""However the app ends, it restores the terminal, saves the set-up and gives the reason as its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hadamard_tui.app import HadamardApp
from hadamard_tui.terminal.signals import FATAL, exit_code, heeded
from hadamard_tui.widgets.side import RunList
from hadamard_tui.widgets.stage import Stage

from .terminal import Terminal

pytestmark = pytest.mark.slow

Open = Callable[..., Terminal]

GIVEN_BACK = (
    b"\x1b[?1049l",
    b"\x1b[?1000l",
    b"\x1b[?1003l",
    b"\x1b[?1006l",
    b"\x1b[?2004l",
    b"\x1b[?25h",
    b"\x1b[<u",
)
"""The main screen, no mouse, no brackets around pastes, a cursor, and the keyboard as it was."""

SMALL = ["--preset", "hadamard-128", "--set", "problem.matrix.d=16", "--set", "claims=[]",
         "--set", "learners.GD.update.lr=0.03125", "--set", "run.device=cpu"]  # fmt: skip
LONG = [
    "--preset",
    "hadamard-128",
    "--set",
    "run.replicas=1000",
    "--set",
    "run.device=cpu",
    "--set",
    "claims=[]",
]

CRASH = """
import sys
from hadamard_tui.cli import main
from hadamard_tui.screens.laboratory import Laboratory
def action_theme(self):
    raise RuntimeError("a defect\\nof ours")
Laboratory.action_help = action_theme
sys.exit(main(sys.argv[1:]))
"""


DEAF = """
import sys
from hadamard_tui.cli import main
from hadamard_tui.terminal.terminal_input import InputReader
read = InputReader.messages
def messages(self, text):
    if "?" in text:
        raise RuntimeError("no keys")
    return read(self, text)
InputReader.messages = messages
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def opened() -> Iterator[Open]:
    """Open the program, and kill it at the end of the test if it still runs."""
    terminals: list[Terminal] = []

    def open_(*arguments: str, **options: str) -> Terminal:
        terminals.append(Terminal(*arguments, **options))  # type: ignore[arg-type]
        return terminals[-1]

    yield open_
    for terminal in terminals:
        try:
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


@pytest.fixture
def last(own_folders: Path) -> Path:
    """File in which the set-up is saved."""
    return own_folders / "xdg_state_home" / "hadamard-tui" / "last.json"


def given_back(terminal: Terminal) -> bool:
    end = terminal.written.rfind(b"\x1b[?1049h") + 1
    return all(code in terminal.written[end:] for code in GIVEN_BACK)


def size_kept(last: Path) -> int:
    return int(json.loads(last.read_bytes())["experiment"]["problem"]["matrix"]["d"])


def threads_of(terminal: Terminal) -> int:
    return len(os.listdir(f"/proc/{terminal.pid}/task"))


@pytest.mark.parametrize("name", FATAL)
def test_the_first_signal_requests_the_end_and_the_second_signal_forces_it(name: str) -> None:
    asked: list[int] = []
    number = signal.Signals[name]
    before = signal.getsignal(number)
    with heeded(asked.append, lambda code: asked.append(-code)):  # type: ignore[arg-type]
        for following in (number, signal.SIGHUP, signal.SIGTERM):
            signal.raise_signal(following)
    assert asked == [128 + number, -128 - number]
    assert signal.getsignal(number) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_the_app_survives_suspension_and_garbled_input(opened: Open, last: Path) -> None:
    terminal = opened(*SMALL)
    before = termios.tcgetattr(terminal.line)
    terminal.shows("r runs it")
    threads = threads_of(terminal)
    for _ in range(2):
        os.kill(terminal.pid, signal.SIGSTOP)
        time.sleep(0.1)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.shows("r runs it")
    for garbage in (b"\xff\xfe\x80", b"\x1b[1114112u"):
        terminal.press(garbage)
        time.sleep(0.2)  # so that the parser of keys sees it alone
    terminal.press(b"?")
    terminal.shows("esc closes")
    end = time.monotonic() + 10
    while threads_of(terminal) != threads:
        assert time.monotonic() < end, f"{threads_of(terminal)} threads, not {threads}"
        time.sleep(0.05)
    os.kill(terminal.pid, signal.SIGQUIT)
    assert terminal.end() == 128 + signal.SIGQUIT
    assert given_back(terminal)
    assert termios.tcgetattr(terminal.line) == before
    assert b"Traceback" not in terminal.written
    assert size_kept(last) == 16


def test_a_stop_signal_after_quitting_does_not_suspend_the_app(opened: Open) -> None:
    terminal = opened(*SMALL)
    terminal.shows("r runs it")
    terminal.press(b"q")
    while not given_back(terminal):
        assert terminal.take(0.1), "it had ended before"
    os.kill(terminal.pid, signal.SIGTSTP)
    assert terminal.end() == 0
    assert given_back(terminal)


def test_a_signal_ends_the_app_during_a_run(opened: Open, last: Path) -> None:
    terminal = opened(*LONG, "--run")
    terminal.shows("running")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 128 + signal.SIGTERM
    assert given_back(terminal)
    assert size_kept(last) == 128


def test_the_app_ends_when_its_terminal_closes(opened: Open, last: Path) -> None:
    terminal = opened(*SMALL)
    terminal.shows("r runs it")
    terminal.press(b"r")
    os.close(terminal.line)
    assert terminal.code() == 128 + signal.SIGHUP
    assert size_kept(last) == 16


def test_a_signal_ends_the_app_on_an_unread_terminal(opened: Open, last: Path) -> None:
    terminal = opened(*SMALL)
    terminal.shows("r runs it")
    for _ in range(30):
        terminal.press(b"tv")
        time.sleep(0.05)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.code() == 128 + signal.SIGTERM
    assert size_kept(last) == 16


def test_repeated_signals_end_the_app_and_restore_the_terminal(opened: Open, last: Path) -> None:
    terminal = opened(*SMALL)
    terminal.shows("r runs it")
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGTERM):
        os.kill(terminal.pid, number)
    assert terminal.end() in (128 + signal.SIGUSR1, 128 + signal.SIGTERM)
    assert given_back(terminal)
    assert size_kept(last) == 16


def test_a_crash_keeps_the_set_up_and_its_traceback_and_exits_3(opened: Open, last: Path) -> None:
    terminal = opened(*SMALL, script=CRASH)
    terminal.shows("r runs it")
    terminal.press(b"?")
    assert terminal.end() == 3
    assert given_back(terminal)
    told = terminal.written[terminal.written.rfind(b"\x1b[?1049l") :]
    file = last.with_name("traceback.txt")
    assert b"error: the program failed: RuntimeError: a defect of ours; its traceback is in" in told
    assert b"Traceback" not in told
    assert "in action_theme" in file.read_text()
    assert size_kept(last) == 16


def test_an_error_in_the_input_thread_ends_the_app(opened: Open, last: Path) -> None:
    terminal = opened(*SMALL, script=DEAF)
    terminal.shows("r runs it")
    terminal.press(b"?")
    assert terminal.end() == 3
    assert given_back(terminal)
    assert b"error: the program failed: RuntimeError: no keys; its traceback is in" in terminal.written
    assert "in messages" in last.with_name("traceback.txt").read_text()
    assert size_kept(last) == 16


@pytest.mark.set_up("empty")
async def test_a_signal_during_composition_ends_the_app_without_a_failure(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = RunList._compose

    async def compose_once_the_screen_goes(runs: RunList) -> None:
        app.end(exit_code(signal.SIGTERM))
        for _ in range(200):  # from Python 3.12 on the end waits for all of the screen
            if runs._pruning:
                break
            await asyncio.sleep(0.005)
        await compose(runs)

    monkeypatch.setattr(RunList, "_compose", compose_once_the_screen_goes)
    await asyncio.wait_for(app.run_async(headless=True), 60)
    assert app.failure is None
    assert app.return_code == exit_code(signal.SIGTERM)


@pytest.mark.set_up("empty")
async def test_an_app_that_ends_before_its_panels_exist_saves_no_view(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = Stage._compose

    async def compose_once_the_app_was_ended(stage: Stage) -> None:
        app.exit(return_code=exit_code(signal.SIGTERM))
        await compose(stage)

    monkeypatch.setattr(Stage, "_compose", compose_once_the_app_was_ended)
    await asyncio.wait_for(app.run_async(headless=True), 60)
    assert app.failure is None
    assert app.return_code == exit_code(signal.SIGTERM)
    assert app.memory is None


@pytest.mark.set_up("empty")
def test_a_signal_during_the_final_save_leaves_the_state_file_complete(
    app: HadamardApp, monkeypatch: pytest.MonkeyPatch, last: Path
) -> None:
    def signalled(file: Path, target: Path) -> None:
        os.kill(os.getpid(), signal.SIGQUIT)
        file.rename(target)

    app.run(headless=True, auto_pilot=quit_at_once)
    monkeypatch.setattr(Path, "replace", signalled)
    with heeded(app.end, app.end_at_once):
        assert app.write() == ""
    assert [file.name for file in last.parent.iterdir()] == ["last.json"]
    assert app.return_code == 0


async def quit_at_once(pilot: Pilot[None]) -> None:
    await pilot.press("q")


def test_the_state_of_the_app_that_ends_last_is_saved(opened: Open, last: Path) -> None:
    apps = {d: opened("--preset", "hadamard-128", "--set", f"problem.matrix.d={d}") for d in (16, 32)}
    for app in apps.values():
        app.shows("r runs it")
    for d, app in apps.items():
        app.press(b"q")
        assert app.end() == 0
        assert given_back(app)
        assert size_kept(last) == d
    assert [file.name for file in last.parent.iterdir()] == ["last.json"]
