"""Cost of the store: the share of a run that it takes, and the time that a list of 10 000 runs takes.

Run it with `python -m benchmarks.store`. It prints ratios of one process and writes nothing outside a
temporary folder.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from engine.core.journal import MAGIC, header, pack
from engine.runtime.curve_keys import code
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.stored_run import StoredRun
from engine.runtime.sweep_run import load_torch_for, run_sweep
from engine.spec import presets

PRESET = "hadamard-1024"
REPEATS = 3
RUNS = 10_000
HEADLINE = "GD stays above 0.1 until 116 of 128 examples, EGU falls below it after 30: log d against d"
CHART = [1.0 - place / 24 for place in range(24)]
CLAIMS = [{"text": "a claim of the usual length", "holds": True, "measured": 1.0, "stderr": 0.1}] * 4
METHODS = "begin", "restore", "begun", "grow", "keep", "skip", "point_done", "end"
"""Methods of the writer that a run calls."""


class Timed(RunWriter):
    """Writer that sums the seconds in its methods."""

    seconds = 0.0


def timed(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that adds its seconds to those of its writer."""

    def run(writer: Timed, *arguments: Any, **named: Any) -> Any:
        start = time.perf_counter()
        answer = method(writer, *arguments, **named)
        writer.seconds += time.perf_counter() - start
        return answer

    return run


for method_name in METHODS:
    setattr(Timed, method_name, timed(getattr(RunWriter, method_name)))


def share(folder: Path) -> tuple[float, float]:
    """Return the seconds of a run, and the share of them in the store; medians."""
    document = presets.document(PRESET, ["run.device=cpu"])
    sweep = presets.sweep_of(PRESET, document)
    load_torch_for(sweep)
    run_sweep(sweep)
    code()
    runs = []
    for _ in range(REPEATS):
        writer = Timed(Store(folder), document, PRESET, reuse=False)
        start = time.perf_counter()
        run_sweep(sweep, writer=writer)
        seconds = time.perf_counter() - start
        runs.append((seconds, writer.seconds / seconds))
    return median(seconds for seconds, _ in runs), median(part for _, part in runs)


def listing(folder: Path) -> dict[str, float]:
    """Return the seconds of processor time of parts of a list of RUNS runs."""
    document = presets.document("hadamard-128", [])
    for number in range(RUNS):
        run = StoredRun(
            f"{number:08x}", float(number), "t", "1", document, "hadamard-128", "r" * 64, "c" * 64
        )
        frames = (
            ("head", msgspec.to_builtins(run)),
            ("end ", {"state": "finished", "time": number + 1.0}),
            ("mark", {"headline": HEADLINE, "chart": CHART, "claims": CLAIMS}),
        )
        packed = b"".join(header(kind, pack(content)) + pack(content) for kind, content in frames)
        (folder / f"20260101T000000-{number:08x}.run").write_bytes(MAGIC + packed)
    steps: dict[str, Callable[[Store], object]] = {
        "all, without an index": Store.runs,
        "the index is opened": Store.count,
        "the folder is compared": lambda store: store.runs(0),
        "the newest 50": lambda store: store.runs(50),
        "the newest 200": lambda store: store.runs(200),
        "all": Store.runs,
        "all, with their details": lambda store: store.runs(details=True),
    }
    return {
        step: fastest(partial(read, Store(folder)), REPEATS if number else 1, time.process_time)
        for number, (step, read) in enumerate(steps.items())
    }


def fastest(
    step: Callable[[], object], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the least seconds of a step; other programs make it slower, and nothing faster."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        step()
        seconds.append(clock() - start)
    return min(seconds)


def commands(data_home: Path) -> dict[str, float]:
    """Return the seconds of `runs --help`, which lists nothing, and of `runs list`."""
    environment = {**os.environ, "XDG_DATA_HOME": str(data_home)}

    def run(*words: str) -> Callable[[], object]:
        command = (sys.executable, "-m", "hadamard_tui", *words)
        return lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

    return {" ".join(words): fastest(run(*words)) for words in (("runs", "--help"), ("runs", "list"))}


async def in_the_app(data_home: Path) -> tuple[float, float]:
    """Return the seconds of the processor from the key of the list until its first and all rows are drawn."""
    from hadamard_tui.app import HadamardApp
    from hadamard_tui.editing.editable_experiment import EditableExperiment
    from hadamard_tui.widgets.side import RunRows

    os.environ["XDG_DATA_HOME"] = str(data_home)
    app = HadamardApp(EditableExperiment.of("hadamard-128"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(2.0)
        rows = app.laboratory.query_one(RunRows)
        start = time.process_time()
        app.laboratory.action_runs()
        seconds = []
        for count in (200, RUNS):
            while rows.count < count:
                await asyncio.sleep(0.002)
            rows.render_line(0)
            seconds.append(time.process_time() - start)
        return seconds[0], seconds[1]


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        seconds, part = share(Path(name) / "runs")
        print(f"{PRESET}: {seconds:.2f} s, {part:.1%} of them in the store")
        data_home = Path(name) / "data"
        folder = data_home / "hadamard-tui" / "runs"
        folder.mkdir(parents=True)
        for step, spent in listing(folder).items():
            print(f"list of {RUNS} runs, {step}: {1000 * spent:.0f} ms of the processor")
        for command, spent in commands(data_home).items():
            print(f"hadamard-tui {command}: {1000 * spent:.0f} ms")
        in_app = asyncio.run(in_the_app(data_home))
        first, last = (f"{1000 * spent:.0f} ms of the processor" for spent in in_app)
        print(f"l in the app: first rows after {first}, all after {last}")


if __name__ == "__main__":
    main()
