"""Cost of the store: the share of a run that it takes, and the time that a list of 10 000 runs takes.

Run it with `python -m benchmarks.store`. It prints ratios of one process and writes nothing outside a
temporary folder.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from engine.core.journal import MAGIC, header, pack
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store, StoredRun, code
from engine.runtime.sweep_run import load_torch_for, run_sweep
from engine.spec import presets

PRESET = "hadamard-1024"
REPEATS = 3
RUNS = 10_000
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


def listing(folder: Path) -> tuple[float, float]:
    """Return seconds to list RUNS runs with an index, and without one."""
    document = presets.document("hadamard-128", [])
    for number in range(RUNS):
        run = StoredRun(f"{number:08x}", float(number), "t", "1", document)
        frames = ("head", msgspec.to_builtins(run)), ("end ", {"state": "finished", "time": number + 1.0})
        packed = b"".join(header(kind, pack(content)) + pack(content) for kind, content in frames)
        (folder / f"20260101T000000-{number:08x}.run").write_bytes(MAGIC + packed)
    start = time.perf_counter()
    assert len(Store(folder).runs()) == RUNS
    without = time.perf_counter() - start
    start = time.perf_counter()
    assert len(Store(folder).runs(documents=False)) == RUNS
    return time.perf_counter() - start, without


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        seconds, part = share(Path(name) / "runs")
        print(f"{PRESET}: {seconds:.2f} s, {part:.1%} of them in the store")
        folder = Path(name) / "many"
        folder.mkdir()
        listed, scanned = listing(folder)
        print(f"{RUNS} runs: listed in {1000 * listed:.0f} ms, and in {scanned:.1f} s without an index")


if __name__ == "__main__":
    main()
