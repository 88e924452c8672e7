"""J1: `hadamard-tui run hadamard-128 --json` as a whole process, and the engine's time inside it.

`python benchmarks/whole_process.py [--json] [--repeats N]`. `import torch` is measured beside it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from contest import Contender, Record, Row, contest

from engine.spec import presets
from hadamard_tui.headless import bench


def process(*command: str) -> Record:
    """Cost of a command as a process, from its start to its end."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": wall, "peak": after.ru_maxrss / 1024}


def engine() -> Record:
    """The run alone, warm: torch is loaded and has run once before."""
    experiment = presets.load("hadamard-128")
    first = bench.measure(experiment)
    warm = bench.measure(experiment)
    return {"cpu": warm.cpu, "wall": warm.wall, "first": first.wall}


CONTENDERS = {
    "import torch": Contender(lambda: process("-c", "import torch")),
    "run --json": Contender(lambda: process("-m", "hadamard_tui", "run", "hadamard-128", "--json")),
    "engine alone": Contender(engine),
}

ROWS = (
    Row("J8 run hadamard-128 --json", "run --json", most=1.0, key="wall"),
    Row("J1 the engine in it, warm", "engine alone", most=0.03, key="wall"),
)

if __name__ == "__main__":
    contest("J1 and J8: hadamard-128, seconds", CONTENDERS, rows=ROWS)
