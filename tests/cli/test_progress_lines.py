"""Progress without a terminal: one line every ten seconds on standard error, none on standard output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from engine.results.results import Results
from engine.runtime import job
from engine.runtime.sweep_run import PointDone, run_sweep
from engine.spec.documents import sweep_of
from hadamard_tui.headless import console
from hadamard_tui.headless.compute import state
from hadamard_tui.headless.console import ProgressLines

from .conftest import Answer

Call = Callable[..., Answer]

AXES = """
axes = [{ name = "size", values = [8, 16, 32] }]
problem = { matrix = { kind = "hadamard", d = "size" }, target = "feature" }
protocol = "one-pass"
learners = [{ name = "GD", architecture = "linear", update = "gd" }]
run = { device = "cpu" }
"""


@pytest.fixture
def slow_clock(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clock that advances by ten seconds at every reading, and runs that wait for two readings."""
    looks, looked, really_sweep = [0], threading.Condition(), job.run_sweep

    def clock() -> float:
        with looked:
            looks[0] += 1
            looked.notify()
            return 10.0 * (looks[0] - 1)

    def sweep_after_looks(*arguments: Any) -> Results:
        with looked:
            wanted = looks[0] + 2
            assert looked.wait_for(lambda: looks[0] >= wanted, timeout=30)
        return really_sweep(*arguments)

    monkeypatch.setattr(console, "PERIOD", 10.0)
    monkeypatch.setattr(console, "monotonic", clock)
    monkeypatch.setattr(job, "run_sweep", sweep_after_looks)


def test_progress_prints_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([100.0, 100.05, 109.95, 110.0, 110.05, 119.9, 120.3, 129.0, 135.0])
    monkeypatch.setattr(console, "monotonic", seconds.__next__)
    stream = StringIO()
    lines = ProgressLines(Console(file=stream), "small (1 of 2): ")
    for share in range(8):
        lines.show(f"part {share}", share / 10)
    assert stream.getvalue().splitlines() == [
        "10 s: small (1 of 2): part 2, 20 %",
        "20 s: small (1 of 2): part 5, 50 %",
        "35 s: small (1 of 2): part 7, 70 %",
    ]


def test_progress_of_a_sweep_counts_points_and_names_the_last_point() -> None:
    heard: list[tuple[str, float]] = []
    results: Results | None = None

    def hear(event: object) -> None:
        nonlocal results
        results = getattr(event, "results", results)
        if isinstance(event, PointDone):
            assert results is not None
            heard.append(state(results))

    run_sweep(sweep_of(tomllib.loads(AXES)), notify=hear)
    assert [share for _, share in heard] == pytest.approx([1 / 3, 2 / 3, 1])
    starts = [words.partition(", in about")[0] for words, _ in heard]
    assert starts == [f"{n} of 3 sweep points done, size = {d}" for n, d in ((1, 8), (2, 16), (3, 32))]


@pytest.mark.usefixtures("slow_clock")
def test_a_sweep_without_a_terminal_reports_progress_only_on_standard_error(small: Path, call: Call) -> None:
    small.write_text(AXES)
    code, out, err = call("run", "small.toml", "--fresh", "--json")
    assert code == 0
    assert len(json.loads(out)["points"]) == 3
    first, *_ = err.splitlines()
    assert first.startswith("10 s: ")
    assert any("of 3 sweep points done, size = " in line or "loading" in line for line in err.splitlines())
    assert all(line.endswith(" %") for line in err.splitlines())


@pytest.mark.usefixtures("slow_clock")
@pytest.mark.parametrize("command", ["run", "judge"])
def test_a_run_without_axes_reports_its_progress(command: str, small: Path, call: Call) -> None:
    code, out, err = call(command, "small.toml", "--json")
    assert code == 0
    json.loads(out)
    assert err.startswith("10 s: ")


@pytest.mark.usefixtures("slow_clock")
def test_progress_of_verify_names_the_preset_and_counts_the_total_time(small: Path, call: Call) -> None:
    code, out, err = call("verify", "small.toml", "small.toml", "--json")
    assert (code, json.loads(out)["holds"]) == (0, True)
    lines = err.splitlines()
    assert lines[0].startswith("10 s: small.toml (1 of 2): ")
    assert " s: small.toml (2 of 2): " in lines[-1]
    times = [float(line.partition(" s: ")[0]) for line in lines]
    assert times == sorted(times)
    assert times[-1] == 10 * len(times)


SLOW_CLOCK = """
import itertools, sys
from hadamard_tui.cli import main
from hadamard_tui.headless import console
console.monotonic = itertools.count(0.0, 10.0).__next__
sys.exit(main(["run", "small.toml", "--json"]))
"""


@pytest.mark.parametrize("stderr", ["a full disk", "nobody"])
@pytest.mark.slow
def test_a_run_continues_if_its_progress_cannot_be_printed(stderr: str, small: Path) -> None:
    reader, pipe = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full:
        errors = full.fileno() if stderr == "a full disk" else pipe
        done = subprocess.run([sys.executable, "-c", SLOW_CLOCK], stdout=subprocess.PIPE, stderr=errors)
    os.close(pipe)
    assert json.loads(done.stdout)["schema"] == 2
    assert done.returncode == 0
