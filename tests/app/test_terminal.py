"""The program on a real pseudo-terminal: start, run, resize, quit."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ARGUMENTS = ["--preset", "hadamard-128", "--set", "problem.matrix.d=16", "--set", "claims=[]",
             "--set", "learners.GD.update.lr=0.03125", "--set", "run.device=cpu"]  # fmt: skip
PATIENCE = 60.0


class Terminal:
    """The program and what it has written."""

    def __init__(self, *arguments: str, columns: int = 80, lines: int = 24) -> None:
        self.written = b""
        self.pid, self._line = pty.fork()
        if self.pid == 0:
            # readline puts COLUMNS and LINES into the environment, and they overrule the terminal's own size.
            own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
            own |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(sys.executable, [sys.executable, "-m", "hadamard_tui", *arguments], own)
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._line, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self._line, keys)

    def take(self, seconds: float) -> bool:
        """Read what is there within some seconds; False at the end of the program."""
        if select.select([self._line], [], [], seconds)[0]:
            try:
                data = os.read(self._line, 65536)
            except OSError:
                return False
            self.written += data
            return bool(data)
        return True

    def shows(self, text: str) -> None:
        """Wait until something is written from here on."""
        end = time.monotonic() + PATIENCE
        while text.encode() not in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", self.written):
            assert time.monotonic() < end, f"{text!r} never came; at last {self.written[-500:]!r}"
            assert self.take(0.1), f"the program ended: {self.written[-2000:]!r}"
        self.written = b""

    def end(self) -> int:
        """The exit code, once the program has ended."""
        end = time.monotonic() + PATIENCE
        while self.take(0.1):
            assert time.monotonic() < end, "the program never ended"
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    started = Terminal(*ARGUMENTS)
    yield started
    try:
        os.kill(started.pid, signal.SIGKILL)
        os.waitpid(started.pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def test_it_starts_runs_is_resized_in_the_middle_and_quits(terminal: Terminal, own_folders: Path) -> None:
    terminal.shows("r runs it")
    terminal.press(b"r")
    terminal.shows("running")
    for columns, lines, word in (
        (120, 40, "row signs"),
        (50, 10, "50×10 is too small"),
        (200, 60, "No run is pinned"),
        (80, 24, "finished"),
    ):
        terminal.resize(columns, lines)
        terminal.shows(word)
    terminal.press(b"q")
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.written
    assert b"\x1b[?1049l" in terminal.written, "the terminal is given back as it was"
    assert (own_folders / "xdg_state_home" / "hadamard-tui" / "last.json").is_file()


def test_ctrl_c_ends_it_while_the_engine_loads(terminal: Terminal) -> None:
    terminal.shows("r runs it")
    terminal.press(b"r")
    terminal.shows("Loading the engine")
    terminal.press(b"\x03")
    assert terminal.end() == 0


def test_what_was_left_comes_back_and_no_run_begins(terminal: Terminal) -> None:
    terminal.shows("r runs it")
    terminal.press(b"t")
    time.sleep(0.5)
    terminal.press(b"q")
    assert terminal.end() == 0
    again = Terminal()
    again.shows("device auto")
    again.press(b"q")
    assert again.end() == 0
    assert b"Traceback" not in again.written


@pytest.mark.parametrize(("key", "word"), [(b"?", "esc closes"), (b"j", "esc stays here")])
def test_below_another_page_nothing_is_sent_when_nothing_changes(
    terminal: Terminal, key: bytes, word: str
) -> None:
    terminal.shows("r runs it")
    terminal.press(key)
    terminal.shows(word)
    for _ in range(2):
        terminal.written = b""
        end = time.monotonic() + 1.5
        while (left := end - time.monotonic()) > 0:
            terminal.take(left)
    assert len(terminal.written) < 80 * 24, "less than one picture of the screen; the status may have changed"
