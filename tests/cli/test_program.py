"""The command line as a program of its own: exit codes, Ctrl-C, and what it imports."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

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


def test_the_hadamard_preset_runs_and_its_claims_hold(program: Program) -> None:
    done = program("run", "hadamard-128", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert all(claim["holds"] for claim in json.loads(done.stdout)["claims"])


def test_bad_input_has_no_traceback(program: Program) -> None:
    done = program("run", "hadamard-128", "--set", "problem.matrix.d=102")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_no_terminal_names_the_command_that_needs_none(program: Program) -> None:
    done = program("--preset", "hadamard-128", "--run")
    assert done.returncode == 2
    assert "use hadamard-tui run hadamard-128" in done.stderr


def hear_ctrl_c() -> None:
    """Listen to SIGINT, which a shell has its background jobs, and all that they start, ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_a_long_run_within_a_second(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "hadamard_tui", "run", "long.toml", "--out", "result.json"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        preexec_fn=hear_ctrl_c,
    )
    os.close(theirs)
    said = b""
    while b"running" not in said:  # the progress bar says so once the data is drawn
        said += os.read(ours, 1000)
    started.send_signal(signal.SIGINT)
    asked = time.monotonic()
    out, _ = started.communicate(timeout=10)
    assert time.monotonic() - asked < 1
    assert started.returncode == 130
    assert out == b""
    while b"stopped" not in said:
        said += os.read(ours, 1000)
    os.close(ours)
    assert said.rstrip().endswith(b"stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


@pytest.mark.parametrize(
    ("code", "light"),
    [
        ("import hadamard_tui.cli", HEAVY),
        ("from hadamard_tui.cli import main; main(['--version'])", HEAVY),
        ("from hadamard_tui.cli import main; main(['list', 'updates'])", HEAVY - {"numpy"}),
        ("from hadamard_tui.cli import main; main(['presets'])", HEAVY - {"numpy"}),
    ],
)
def test_what_is_light_loads_nothing_heavy(code: str, light: set[str]) -> None:
    names = f"{code}; import sys; print('loaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("loaded")[2].split()
    assert not light & set(loaded)
