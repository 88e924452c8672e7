"""The command line as a program of its own: exit codes, Ctrl-C, and what it imports."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hadamard_tui.state import run_store

Program = Callable[..., "subprocess.CompletedProcess[str]"]

LONG = """
[problem]
matrix = { kind = "hadamard", d = 512 }
target = { kind = "feature" }
[protocol]
kind = "one-pass"
[run]
replicas = 20
device = "cpu"
[[learners]]
name = "dense"
architecture = { kind = "dense", widths = [512], activation = "relu" }
update = { kind = "gd", lr = 0.001 }
"""

HEAVY = {"torch", "scipy", "numpy", "plotext", "textual"}


@pytest.mark.slow
def test_the_hadamard_preset_runs_and_its_claims_hold(program: Program) -> None:
    done = program("run", "hadamard-128", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert all(claim["holds"] for claim in json.loads(done.stdout)["claims"])


@pytest.mark.slow
def test_bad_input_has_no_traceback(program: Program) -> None:
    done = program("run", "hadamard-128", "--set", "problem.matrix.d=102")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_without_a_terminal_the_error_names_the_run_command(program: Program) -> None:
    done = program("--preset", "hadamard-128", "--run")
    assert done.returncode == 2
    assert "use hadamard-tui run hadamard-128" in done.stderr


def on_terminal(
    *arguments: str,
    hearing: signal.Handlers = signal.SIG_DFL,
    stdout: int = subprocess.DEVNULL,
    **options: Any,
) -> tuple[subprocess.Popen, int]:
    """Python process with a terminal as standard error, and our end of the terminal."""
    ours, theirs = pty.openpty()

    def hear() -> None:
        """Set the handlers of terminal signals, which a shell lets background jobs ignore."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, hearing)

    started = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        preexec_fn=hear,
        **options,
    )
    os.close(theirs)
    return started, ours


@pytest.mark.slow
def test_ctrl_c_ends_a_long_run_within_a_second(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    command = ("-m", "hadamard_tui", "run", "long.toml", "--out", "result.json")
    started, ours = on_terminal(*command, stdout=subprocess.PIPE, cwd=tmp_path)
    output = b""
    while b"running" not in output:  # the progress bar says so once the data is drawn
        output += os.read(ours, 1000)
    started.send_signal(signal.SIGINT)
    asked = time.monotonic()
    out, _ = started.communicate(timeout=10)
    assert time.monotonic() - asked < 1
    assert started.returncode == 130
    assert out == b""
    while b"stopped" not in output:
        output += os.read(ours, 1000)
    os.close(ours)
    assert output.rstrip().endswith(b"stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]
    assert run_store.needed_store().runs()[0].fate == "stopped"


BAR = """
import time
from hadamard_tui.headless import console
with console.progress(console.errors()) as show:
    show("running", 0.5)
    for _ in range(6000):
        time.sleep(0.01)  # a signal that another thread got is handled when this one goes on
"""


def read(line: int, until: bytes = b"") -> bytes:
    """Read a terminal until the text `until` appears, or to the end of the program."""
    output = b""
    with suppress(OSError):  # there is nobody left at the other end
        while not (until and until in output) and (more := os.read(line, 1000)):
            output += more
    return output


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"])
def test_a_signal_ends_a_progress_bar_and_shows_the_cursor(name: str) -> None:
    started, line = on_terminal("-c", BAR)
    assert b"\x1b[?25l" in read(line, b"running")
    started.send_signal(signal.Signals[name])
    assert started.wait(20) == -signal.Signals[name]
    assert b"\x1b[?25h" in read(line)
    os.close(line)


def test_a_suspended_progress_bar_shows_the_cursor_and_can_continue() -> None:
    started, line = on_terminal("-c", BAR, process_group=0)
    read(line, b"running")
    started.send_signal(signal.SIGTSTP)
    _, status = os.waitpid(started.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    started.send_signal(signal.SIGCONT)
    started.terminate()
    assert started.wait(20) == -signal.SIGTERM
    assert read(line).count(b"\x1b[?25h") == 2  # when it was stopped, and at the end
    os.close(line)


def test_an_ignored_signal_does_not_end_a_progress_bar() -> None:
    started, line = on_terminal("-c", BAR, hearing=signal.SIG_IGN)
    read(line, b"running")
    started.send_signal(signal.SIGHUP)
    started.send_signal(signal.SIGTERM)
    assert started.wait(20) == -signal.SIGTERM
    os.close(line)


@pytest.mark.slow
def test_a_terminated_run_is_stored_as_stopped_and_shows_the_cursor(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    started, line = on_terminal("-m", "hadamard_tui", "run", str(tmp_path / "long.toml"))
    read(line, b"running")
    started.terminate()
    assert started.wait(20) == 128 + signal.SIGTERM
    rest = read(line)
    assert b"\x1b[?25h" in rest
    assert rest.endswith(b"stopped by SIGTERM\r\n")
    os.close(line)
    (run,) = run_store.needed_store().runs()
    assert run.fate == "stopped"


@pytest.mark.slow
def test_closing_the_terminal_stops_a_run_unless_nohup_started_it(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    command = ("-m", "hadamard_tui", "run", str(tmp_path / "long.toml"))
    started, line = on_terminal(*command)
    ignoring, other_line = on_terminal(*command, hearing=signal.SIG_IGN)
    for terminal in (line, other_line):
        read(terminal, b"running")
        os.close(terminal)
    for process in (started, ignoring):
        process.send_signal(signal.SIGHUP)
    assert started.wait(20) == 128 + signal.SIGHUP
    assert ignoring.poll() is None
    ignoring.terminate()
    assert ignoring.wait(20) == 128 + signal.SIGTERM
    assert [run.fate for run in run_store.needed_store().runs()] == ["stopped", "stopped"]


STOPPING = """
import os, time
from hadamard_tui.terminal.signals import Terminated, raised
with raised(os._exit):
    try:
        print("here", flush=True)
        time.sleep(60)
    except Terminated as ending:
        print(ending.number, flush=True)
        time.sleep(60)  # as if the terminal had stopped its output
"""


def test_a_command_that_hangs_after_a_signal_is_ended_later() -> None:
    started = subprocess.Popen([sys.executable, "-c", STOPPING], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "here\n"
    started.send_signal(signal.SIGUSR1)
    assert int(started.stdout.readline()) == signal.SIGUSR1
    started.send_signal(signal.SIGTERM)  # the command timeout sends two signals
    time.sleep(0.5)
    assert started.poll() is None
    assert started.wait(10) == 128 + signal.SIGUSR1


LIGHT = [
    ("from hadamard_tui.cli import main", HEAVY),
    ("main(['--version'])", HEAVY),
    ("main(['list', 'updates'])", HEAVY - {"numpy"}),
    ("main(['presets'])", HEAVY - {"numpy"}),
    ("main(['run', 'hadamard-128', '--json'])", {"torch"}),
]
"""Consecutive actions, with the modules that must not be loaded after each."""


@pytest.mark.slow
def test_light_commands_load_no_heavy_modules() -> None:
    program = "; ".join(f"{code}; import sys; print('loaded', *sys.modules, 'end')" for code, _ in LIGHT)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = re.findall(r"^loaded (.*) end$", done.stdout, re.MULTILINE)
    for (code, light), names in zip(LIGHT, loaded, strict=True):
        assert not light & set(names.split()), code
