"""Fixtures that call the command line in this process or as a program, and a preset that runs fast."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hadamard_tui.cli import main
from hadamard_tui.headless import console

SMALL = """
title = "Eight features"
story = \"\"\"Look at this. Then
at that.\"\"\"

[problem]
matrix = { kind = "hadamard", d = 8 }
target = { kind = "feature", index = 3 }

[protocol]
kind = "one-pass"

[run]
device = "cpu"

[[learners]]
name = "GD"
architecture = { kind = "linear" }
update = { kind = "gd", lr = 0.0625 }

[[learners]]
name = "EGU"
architecture = { kind = "linear" }
update = { kind = "egu", lr = 0.1 }

[[claims]]
text = "After half the examples, GD still has loss one half"
kind = "value"
curve = "GD"
at = 4
equals = 0.5
within = 1e-5
"""


class Answer(NamedTuple):
    """Exit code and output of a call of the command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A preset file of eight features in the working directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Call the command line in this process, with no terminal anywhere."""
    for variable in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    # On a slow host, lines of progress would stand among the errors.
    monkeypatch.setattr(console, "PERIOD", math.inf)

    def answer(*arguments: str) -> Answer:
        capfd.readouterr()
        code = main(arguments)
        return Answer(code, *capfd.readouterr())

    return answer


@pytest.fixture
def program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the command line as a program, with pipes instead of a terminal."""

    def answer(*arguments: str) -> subprocess.CompletedProcess[str]:
        plain = {"COLUMNS", "FORCE_COLOR", "NO_COLOR"}
        return subprocess.run(
            [sys.executable, "-m", "hadamard_tui", *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name not in plain},
        )

    return answer
