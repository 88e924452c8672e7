"""A run outlives the terminal of its app: a process of its own finishes it into the store."""

import os
import time
from pathlib import Path

import pytest

from engine.runtime.run_reader import opened
from engine.runtime.stored_run import StoredRun
from hadamard_tui.state import run_store

from .terminal import Terminal

LONG = """
title = "A long sweep"
axes = [{ name = "size", values = [120, 130, 140, 150, 160, 170, 180] }]
protocol = "one-pass"
learners = [{ name = "LS", solver = "lls" }]
[problem]
matrix = { kind = "gaussian", n = "2d", d = "size" }
target = "feature"
[run]
device = "cpu"
replicas = 6
"""


def runs() -> list[StoredRun]:
    return run_store.needed_store().runs()


def until(condition, seconds=150.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, [(run.id, run.state, run.fate, run.finished) for run in runs()]
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("finishes", [True, False], ids=["finishes", "configured not to"])
def test_a_run_continues_after_a_hangup_unless_configured_otherwise(finishes, tmp_path):
    if not finishes:
        folder = Path(os.environ["XDG_CONFIG_HOME"]) / "hadamard-tui"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text("finish_after_hangup = false\n")
    (tmp_path / "long.toml").write_text(LONG)
    terminal = Terminal("--preset", str(tmp_path / "long.toml"), "--run")

    def has_points():
        terminal.take(0.05)
        return any(run.finished > 0 for run in runs())

    until(has_points)
    os.close(terminal.line)
    terminal.code()
    if not finishes:
        time.sleep(3)
        assert [run.detached for run in runs()] == [False]
        return
    until(lambda: any(run.state == "finished" for run in runs()))
    until(lambda: len(runs()) == 1)
    (run,) = runs()
    assert run.detached
    assert opened(Path(run.path))[1].complete
    (line,) = run_store.news()
    assert line.startswith("'A long sweep', which ran without a terminal, is finished")
    assert run_store.news() == [], "it is said once"
