"""Jobs of the command `hadamard-tui bench`, which measures the speed of the engine."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from engine.core.lazy import load_torch, torch
from engine.planning.run_plan import plan_run
from engine.runtime.compiling import compile_first
from engine.runtime.run import run
from engine.spec import presets, reading

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment

QUICK = ("J1", "J2 GD", "J3 EGU±")
"""Jobs that `bench --quick` runs. They take seconds."""


LINEAR = {"kind": "linear"}
ALL_TARGETS = {
    "GD": {"architecture": LINEAR, "update": {"kind": "gd", "lr": 1 / 2048}},
    "EGU": {"architecture": LINEAR, "update": {"kind": "egu", "lr": 0.15}},
    "EGU±": {"architecture": LINEAR, "update": {"kind": "egu-pm", "lr": 0.15}},
    "spindly": {"architecture": {"kind": "spindly"}, "update": {"kind": "gd", "lr": 0.0375}},
    "hypentropy": {"architecture": LINEAR, "update": {"kind": "hypentropy", "lr": 0.15}},
    "private rates": {"architecture": LINEAR, "update": {"kind": "private-rates", "lr": 0.125}},
    "AdaGrad": {"architecture": LINEAR, "update": {"kind": "adagrad", "lr": 1 / 32}},
    "momentum": {"architecture": LINEAR, "update": {"kind": "momentum", "lr": 1 / 8192}},
}
MILLION = {
    "EGU±": ALL_TARGETS["EGU±"],
    "hypentropy": ALL_TARGETS["hypentropy"],
    "spindly": ALL_TARGETS["spindly"],
}
NET = {"kind": "dense", "widths": [128], "activation": "relu"}


class Timed(NamedTuple):
    """Benchmark job, and the cost of its last run."""

    job: BenchmarkJob
    measured: Measured


def timed(quick: bool, errors: Console) -> Iterator[Timed]:
    """Run the benchmark jobs one by one on one thread. Short jobs run twice, and their second run counts."""
    for job in jobs():
        if quick and job.name not in QUICK:
            continue
        with errors.status(f"{job.name}: {job.text}"):
            measured = measure(job.experiment)
            if measured.wall < 1:
                measured = measure(job.experiment)
        yield Timed(job, measured)


def table(timings: list[Timed]) -> Table:
    columns = "job", "what", "backend", "seconds", "CPU", "reference", "ratio"
    shown = Table(*columns, box=SIMPLE_HEAD, title="One thread, float32")
    for job, measured in timings:
        reference, ratio = "", ""
        if job.reference is not None:
            reference, ratio = f"{job.reference:.3g}", f"{measured.cpu / job.reference:.2f}"
        backend = max(curve.backend for curve in measured.trace.curves)
        seconds = f"{measured.wall:.3g}", f"{measured.cpu:.3g}"
        shown.add_row(job.name, job.text, backend, *seconds, reference, ratio)
    versions = f"torch {torch.__version__}, numba {version('numba')}"
    shown.caption = (
        f"This machine: {platform.machine()}, {os.cpu_count()} cores, {versions}.\n"
        "Ratio: CPU seconds of this machine, divided by those of the reference machine. "
        "docs/explanation/performance.md describes the reference machine."
    )
    return shown


def as_json(timings: list[Timed]) -> dict[str, Any]:
    return {
        "schema": 1,
        "environment": timings[0].measured.trace.environment if timings else {},
        "jobs": [
            {
                "job": job.name,
                "what": job.text,
                "wall": measured.wall,
                "cpu": measured.cpu,
                "peak_mib": measured.peak,
                "reference_cpu": job.reference,
            }
            for job, measured in timings
        ],
    }


class BenchmarkJob(NamedTuple):
    """Experiment that `hadamard-tui bench` times."""

    name: str
    text: str
    experiment: Experiment
    reference: float | None = None
    """CPU seconds on the reference machine of docs/explanation/performance.md."""


class Measured(NamedTuple):
    """Cost and results of a run."""

    cpu: float
    wall: float
    peak: float
    """Peak memory in MiB during the run, minus the peak memory before the run."""
    trace: Trace


def jobs() -> list[BenchmarkJob]:
    listed_jobs = [
        BenchmarkJob(
            "J1",
            "hadamard-128, five learners",
            presets.load("hadamard-128", ["run.device=cpu"]),
            REFERENCE["J1"],
        )
    ]
    listed_jobs += [
        BenchmarkJob(
            f"J2 {learner_name}",
            "1024 targets, d = 1024, one pass",
            all_targets(learner_name),
            REFERENCE[f"J2 {learner_name}"],
        )
        for learner_name in ALL_TARGETS
    ]
    listed_jobs += [
        BenchmarkJob(
            f"J3 {learner_name}",
            "d = 2²⁰, 60 examples",
            million(learner_name, 60),
            REFERENCE[f"J3 {learner_name}"],
        )
        for learner_name in MILLION
    ]
    listed_jobs.append(
        BenchmarkJob("J3 GD", "d = 2²⁰, 1000 examples", million("GD", 1000), REFERENCE["J3 GD"])
    )
    listed_jobs.append(
        BenchmarkJob("J4", "learning curve, 20 ReLU nets for every k", learning_curve(20), REFERENCE["J4"])
    )
    return listed_jobs


def all_targets(
    learner_name: str, d: int = 1024, examples: int | None = None, matrix: str = "hadamard"
) -> Experiment:
    """Return benchmark job J2: all features of a matrix are targets, and each example is seen once."""
    protocol = {"kind": "one-pass", "examples": examples}
    return described(d, "all", protocol, {learner_name: ALL_TARGETS[learner_name]}, matrix)


def million(learner_name: str, examples: int, d: int = 1 << 20) -> Experiment:
    """Return benchmark job J3: one target among 2²⁰ features."""
    gd = {"architecture": LINEAR, "update": {"kind": "gd", "lr": 1 / (2 * d)}}
    protocol = {"kind": "one-pass", "examples": examples}
    return described(
        d, {"kind": "feature", "index": 3}, protocol, {learner_name: {"GD": gd, **MILLION}[learner_name]}
    )


def learning_curve(replicas: int, d: int = 128) -> Experiment:
    """Return benchmark job J4: ReLU nets, trained to a loss of 10⁻⁶ on each of about 32 training sets."""
    protocol = {"kind": "erm", "every": d // 32, "steps": 3000, "tolerance": 1e-6}
    net = {"architecture": {**NET, "widths": [d]}, "update": {"kind": "gd", "lr": 0.02}}
    return described(d, {"kind": "feature", "index": 3}, protocol, {"net": net}, replicas=replicas)


def described(
    d: int,
    target: str | dict[str, Any],
    protocol: dict[str, Any],
    learners: dict[str, Any],
    matrix: str | dict[str, Any] = "hadamard",
    **settings: Any,
) -> Experiment:
    """Return an experiment, with the defaults of presets for missing settings.

    Args:
        matrix: name of a matrix family, for a d × d matrix, or the full description of a matrix.
    """
    return reading.parse(
        {
            "problem": {
                "matrix": {"kind": matrix, "d": d} if isinstance(matrix, str) else matrix,
                "target": {"kind": target} if isinstance(target, str) else target,
            },
            "protocol": protocol,
            "run": {"device": "cpu", **settings},
            "learners": [{"name": learner_name, **learner} for learner_name, learner in learners.items()],
        }
    )


def on_path(experiment: Experiment, path: str) -> Experiment:
    return msgspec.structs.replace(experiment, run=msgspec.structs.replace(experiment.run, path=path))


def measure(experiment: Experiment, threads: int = 1, compiles_first: bool = True) -> Measured:
    """Run an experiment once, without its claims, and return its cost.

    The time excludes the loading of torch. If `compiles_first`, numba compiles before the time is measured.
    Otherwise, numba compiles during the run, and a slower backend is used until it has finished.
    """
    load_torch(threads)
    if compiles_first:
        compile_first(plan_run(experiment))
    before = peak_mib()
    wall, cpu = time.perf_counter(), time.process_time()
    trace = run(msgspec.structs.replace(experiment, claims=()))
    return Measured(time.process_time() - cpu, time.perf_counter() - wall, peak_mib() - before, trace)


def peak_mib() -> float:
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return kib / 1024


REFERENCE: dict[str, float] = {
    "J1": 0.018,
    "J2 GD": 0.051,
    "J2 EGU": 0.085,
    "J2 EGU±": 0.119,
    "J2 spindly": 0.084,
    "J2 hypentropy": 0.119,
    "J2 private rates": 0.083,
    "J2 AdaGrad": 0.062,
    "J2 momentum": 0.118,
    "J3 EGU±": 0.79,
    "J3 hypentropy": 0.62,
    "J3 spindly": 0.56,
    "J3 GD": 0.19,
    "J4": 0.31,
}
"""CPU seconds of each job on the reference machine."""
