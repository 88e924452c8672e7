"""What each backend saves: `python benchmarks/backends.py` runs jobs with and without it, in fresh processes.

A backend earns its place by a factor of 2 and half a second of wall clock, on a shipped preset, on a job of
`make bench`, or on a preset of which one number is changed. Loading counts; compiled code is on disk before.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


def timed(backend: str, job: str, without: str) -> tuple[float, str]:
    """Seconds of wall clock of a job in a fresh process, and the backends that served it."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, backend, job, without], capture_output=True, text=True, check=True
    )
    return time.perf_counter() - began, done.stdout.strip()


def work(backend: str, job: str, without: str) -> None:
    """Run a job, for which a backend may be missing, and print by which backends."""
    described = dict(JOBS[backend])[job]()
    by_name = backends.backends()
    if without:
        del by_name[without]
    if backend in BESIDE:
        compile_first(plan_run(described))
    print(*dict.fromkeys(curve.backend for curve in run(described).curves))


def main() -> None:
    """Print a row for every job as soon as it is measured."""
    print(f"{'backend':16}{'lines':>6}  {'job':28}{'with it':>10}{'without':>10}{'factor':>8}  served by")
    for backend, of_backend in JOBS.items():
        for job, _ in of_backend:
            timed(backend, job, "")  # which also compiles
            turns = [(timed(backend, job, ""), timed(backend, job, backend)) for _ in range(TURNS)]
            with_it = min(seconds for (seconds, _), _ in turns)
            without = min(seconds for _, (seconds, _) in turns)
            (_, served), (_, instead) = turns[0]
            print(
                f"{backend:16}{lines_of(backend):6}  {job:28}{with_it:8.2f} s{without:8.2f} s"
                f"{without / with_it:8.2f}  {served}; else {instead}",
                flush=True,
            )


if __name__ == "__main__":
    work(*sys.argv[1:]) if len(sys.argv) > 1 else main()
