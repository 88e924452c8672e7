"""Errors of the program itself print one line, which says how to see the traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.runtime import job

from .conftest import Answer

Call = Callable[..., Answer]


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("the engine\nis on fire")


def test_an_engine_exception_is_one_line_naming_its_traceback_file(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    monkeypatch.setattr(job, "run_sweep", broken)
    code, out, err = call("run", "small.toml", "--json")
    file = own_folders / "xdg_state_home" / "hadamard-tui" / "traceback.txt"
    assert (code, out) == (3, "")
    assert (
        err == f"error: the program failed: RuntimeError: the engine is on fire; its traceback is in {file}\n"
    )
    assert "in broken" in file.read_text()


def test_an_unsaved_traceback_is_printed(
    small: Path, call: Call, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    (own_folders / "xdg_state_home").write_text("no folder")
    monkeypatch.setattr(job, "run_sweep", broken)
    code, _, err = call("run", "small.toml")
    assert code == 3
    assert "in broken" in err
    assert err.endswith("its traceback is above\n")


@pytest.mark.slow
def test_a_closed_pipe_after_the_first_line_is_no_error() -> None:
    program = f"{sys.executable} -m hadamard_tui parts list updates | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
