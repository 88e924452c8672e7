"""Memory of runs: what they hold at their peak, beside the estimate that the program shows and checks before.

`python benchmarks/memory.py [--json] [--picture FILE.svg]`. Every job runs in a process of its own, on one
thread, after a small one of its kind, so that what libraries take (torch, numba, scipy) is not counted: the
estimate is of what a run holds. The goal is an estimate within 25 % of the peak. Linux only, which can forget
the peak before a run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from contest import Contender, Record, Row, contest

from engine.planning.memory_estimate import give_back, needed_bytes
from engine.planning.run_plan import plan_run
from engine.spec import reading
from engine.spec.experiment import Experiment
from hadamard_tui.headless import bench

FEATURE = {"kind": "feature", "index": 3}
GD = {"architecture": bench.LINEAR, "update": {"kind": "gd", "lr": 1e-4}}
CLOSE = 0.25

Make = Callable[[int, Path], Experiment]
"""An experiment of a size, with its files in a folder."""


def resident(name: str) -> float:
    """A line of /proc/self/status in MiB: VmRSS is the present use, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def measured(make: Make, small: int, size: int) -> Callable[[], Record]:
    """Peak memory of a run of this size, after a run of a small size."""

    def work() -> Record:
        with tempfile.TemporaryDirectory() as folder:
            bench.measure(make(small, Path(folder)))
            experiment = make(size, Path(folder))
            estimate = needed_bytes(plan_run(experiment)) / 2**20
            give_back()
            before = resident("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")  # the most from here on
            done = bench.measure(experiment)
            peak = resident("VmHWM") - before
        backend = done.trace.curves[0].backend
        off = abs(estimate / peak - 1)
        return {"backend": backend, "peak": peak, "estimate": estimate, "off": off, "wall": done.wall}

    return work


def on(matrix: str, path: str, learner: dict[str, Any], examples: int | None = None, **more: Any) -> Make:
    """A learner on a matrix of d features, on one pass."""

    def make(d: int, folder: Path) -> Experiment:
        protocol = {"kind": "one-pass", "examples": examples}
        return bench.on_path(bench.described(d, FEATURE, protocol, {"it": learner}, matrix, **more), path)

    return make


def all_targets(learner: str, path: str, matrix: str = "hadamard") -> Make:
    return lambda d, folder: bench.on_path(bench.all_targets(learner, d, 64, matrix), path)


def on_file(learner: dict[str, Any], examples: int | None = None, loss: str = "square") -> Make:
    """A learner on n rows of 500 features from a file."""

    def make(n: int, folder: Path) -> Experiment:
        generator = np.random.default_rng(0)
        rows, labels = folder / f"X{n}.npy", folder / f"y{n}.npy"
        np.save(rows, generator.normal(size=(n, 500)).astype(np.float32))
        np.save(labels, generator.choice((-1.0, 1.0), n).astype(np.float32))
        problem = {
            "matrix": {"kind": "file", "path": str(rows)},
            "target": {"kind": "file", "path": str(labels)},
        }
        protocol = {"kind": "one-pass", "examples": examples, "loss": loss}
        described = {"problem": problem, "protocol": protocol, "run": {"device": "cpu"}}
        return reading.parse({**described, "learners": [{"name": "it", **learner}]})

    return make


def nets(path: str) -> Make:
    return lambda d, folder: bench.on_path(bench.learning_curve(20, d), path)


MULTIPLIED = bench.ALL_TARGETS["EGU±"]
JOBS: dict[str, tuple[Make, int, int]] = {
    "structured, d = 2²⁰": (on("hadamard", "structured", MULTIPLIED, 60), 1 << 10, 1 << 20),
    "structured, d = 2²²": (on("hadamard", "structured", MULTIPLIED, 20), 1 << 10, 1 << 22),
    "compiled, d = 2²⁰": (on("hadamard", "compiled", MULTIPLIED, 60), 1 << 10, 1 << 20),
    "compiled, 1024 targets": (all_targets("EGU±", "compiled"), 128, 1024),
    "one-by-one, d = 2²⁰": (on("hadamard", "one-by-one", bench.ALL_TARGETS["GD"], 1000), 1 << 10, 1 << 20),
    "one-by-one, 2048 targets": (all_targets("GD", "one-by-one"), 128, 2048),
    "dense, d = 4096": (on("gaussian", "dense", GD, 60), 64, 4096),
    "dense, 512 replicas": (on("gaussian", "dense", GD, 64, replicas=512), 64, 256),
    "by-rows, 2048 targets": (all_targets("GD", "by-rows", "rademacher"), 128, 2048),
    "GD on a file": (on_file(GD), 200, 20_000),
    "logistic GD on a file": (on_file(GD, loss="logistic"), 200, 10_000),
    "VAW on a file": (on_file({"solver": {"kind": "vaw"}}, 500), 200, 20_000),
    "Lasso on a file": (on_file({"solver": {"kind": "lasso"}}, 500), 200, 20_000),
    "rbf kernel, 2000 examples": (on_file({"solver": {"kind": "kernel"}}, 2000), 200, 20_000),
    "rbf kernel, 300 examples": (on_file({"solver": {"kind": "kernel"}}, 300), 200, 20_000),
    "nets for every k": (nets("structured"), 32, 128),
    "nets for every k, compiled": (nets("preactivations"), 32, 128),
}
CONTENDERS = {name: Contender(measured(*job)) for name, job in JOBS.items()}
ROWS = [Row(name, name, most=CLOSE, key="off") for name in JOBS]


def picture(medians: Mapping[str, Record], file: str) -> None:
    """Draw the ratio of estimate and peak of every job, with a band of 25 %."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "hadamard-tui", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(9, 5), layout="constrained")
    names = [f"{name} ({record['peak']:.0f} MiB)" for name, record in medians.items()]
    panel.plot([record["estimate"] / record["peak"] for record in medians.values()], names, "o")
    panel.axvspan(1 - CLOSE, 1 + CLOSE, color="gray", alpha=0.2)
    panel.axvline(1.0, color="gray", linewidth=1)
    panel.invert_yaxis()
    panel.set_xlabel("estimate over the peak of memory that was measured")
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    contest("Peak of memory in MiB beside its estimate", CONTENDERS, repeats=1, rows=ROWS, draw=picture)
