"""What each backend saves: `python benchmarks/backends.py` runs jobs with and without it, in fresh processes.

Names of backends as arguments select their jobs. The columns are the least wall clock and the least processor
time (user and system) of the whole process. On a busy machine, only the processor time can be compared.

A backend earns its place by a factor of 2 and half a second of wall clock, on a shipped preset, on a job of
`make bench`, or on a preset of which one number is changed. Loading counts; compiled code is on disk before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from engine import backends
from engine.planning.run_plan import plan_run
from engine.runtime.compiling import compile_first
from engine.runtime.run import run
from engine.spec import presets
from engine.spec.experiment import Experiment
from hadamard_tui.headless import bench

FOLDER = Path(backends.__file__).parent
BESIDE = {"compiled": ("passes", "loops"), "preactivations": ("nets",)}
"""Folders with code of a single backend."""

TURNS = 3


def preset(name: str, *settings: str) -> Callable[[], Experiment]:
    """A shipped preset, with at most one number changed."""
    return lambda: presets.load(name, [*settings, "run.device=cpu", "claims=[]"])


JOBS: dict[str, list[tuple[str, Callable[[], Experiment]]]] = {
    "numpy": [("hadamard-128", preset("hadamard-128"))],
    "one-by-one": [
        ("J2 GD", lambda: bench.all_targets("GD")),
        ("J2 AdaGrad", lambda: bench.all_targets("AdaGrad")),
        ("J3 GD", lambda: bench.million("GD", 1000)),
    ],
    "by-responses": [
        ("J2 momentum", lambda: bench.all_targets("momentum")),
    ],
    "by-rows": [
        ("J2 GD on random signs", lambda: bench.all_targets("GD", matrix="rademacher")),
    ],
    "preactivations": [
        ("J4", lambda: bench.learning_curve(20)),
        ("J4, 60 replicas", lambda: bench.learning_curve(60)),
    ],
    "compiled": [
        ("…-all-targets, d = 8192", preset("hadamard-4096-all-targets", "problem.matrix.d=8192")),
        ("J2 hypentropy", lambda: bench.all_targets("hypentropy")),
        ("J3 EGU±", lambda: bench.million("EGU±", 60)),
    ],
}


def lines_of(name: str) -> int:
    """Lines of a backend, and of the folders that serve it alone."""
    module = FOLDER / f"{name.replace('-', '_')}.py"
    beside = [file for folder in BESIDE.get(name, ()) for file in (FOLDER / folder).glob("*.py")]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (module, *beside))


class Turn(NamedTuple):
    """Seconds of wall clock and of processor time of a job, and the backends that served it."""

    wall: float
    processor: float
    served: str


def timed(backend: str, job: str, without: str) -> Turn:
    """Run a job in a fresh process."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, backend, job, without], capture_output=True, text=True, check=True
    )
    wall, after = time.perf_counter() - began, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Turn(wall, processor, done.stdout.strip())


def work(backend: str, job: str, without: str) -> None:
    """Run a job, for which a backend may be missing, and print by which backends."""
    described = dict(JOBS[backend])[job]()
    by_name = backends.backends()
    if without:
        del by_name[without]
    if backend in BESIDE:
        compile_first(plan_run(described))
    print(*dict.fromkeys(curve.backend for curve in run(described).curves))


def main(names: Sequence[str]) -> None:
    """Print a row for every job as soon as it is measured."""
    print(f"{'backend':16}{'lines':>6}  {'job':28}" + f"{'with it':>10}{'without':>10}{'factor':>8}" * 2)
    for backend in names or JOBS:
        for job, _ in JOBS[backend]:
            timed(backend, job, "")  # which also compiles
            turns = [(timed(backend, job, ""), timed(backend, job, backend)) for _ in range(TURNS)]
            row = f"{backend:16}{lines_of(backend):6}  {job:28}"
            for clock in ("wall", "processor"):
                with_it, without = (min(getattr(turn[side], clock) for turn in turns) for side in (0, 1))
                row += f"{with_it:8.2f} s{without:8.2f} s{without / with_it:8.2f}"
            (used, instead), *_ = turns
            print(f"{row}  {used.served}; else {instead.served}", flush=True)


if __name__ == "__main__":
    work(*sys.argv[1:]) if len(sys.argv) == 4 else main(sys.argv[1:])
