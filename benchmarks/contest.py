"""Contests: each contender runs in its own process, in turns (A B A B); results are medians of the repeats.

The result of a benchmark are rows: a job, its first and second cost, the best outsider of the same run, the
ratio of both, the goal, and whether the goal is met.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata, util
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}

AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"}
"""CPU features that the SkylakeX kernels of OpenBLAS need."""

PACKAGES = ("torch", "numpy", "jax", "numba", "scikit-learn")

WIDTH = 110
"""Width of tables in columns, also in logs."""

Record = dict[str, Any]
"""Measurements of one repeat: cpu and wall in seconds, and first and peak if measured."""


class Contender(NamedTuple):
    """One way to do a job; `work` runs in a process of its own and returns its record."""

    work: Callable[[], Record]
    module: str | None = None
    """Package that the contender needs, if the program does not depend on it."""

    all_cores: bool = False
    """Whether the contender uses all cores instead of one thread on one core."""

    environment: Mapping[str, str] = {}
    """Environment variables of its process."""


class Row(NamedTuple):
    """A job, its contenders, and its goal: either `times` or `most`."""

    job: str
    ours: str
    outsiders: tuple[str, ...] = ()
    times: float | None = None
    """Least ratio of the cost of the best outsider to ours."""

    most: float | None = None
    """Most that our contender may take."""

    key: str = "cpu"
    """Key of the compared number in records."""

    first: str = "first"
    """Key of the same number for the first call in a process."""


class Outcome(NamedTuple):
    """A printed row; None for numbers that were not measured."""

    job: str
    cold: float | None
    warm: float | None
    outsider: str | None
    ratio: float | None
    """Ratio of the cost of the outsider to ours."""

    goal: str
    met: bool | None


def contest(
    text: str,
    contenders: Mapping[str, Contender],
    repeats: int = 5,
    rows: Sequence[Row] = (),
    draw: Callable[[Mapping[str, Record], str], None] | None = None,
) -> None:
    """Run all contenders turn by turn and print the medians and the rows, as tables or as JSON.

    `draw` draws the medians into a file. Called again with `--only NAME` it is the process of one contender.
    """
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    parser.add_argument("--repeats", type=int, default=repeats, help="turns of every contender")
    parser.add_argument("--quick", action="store_true", help="one turn of every contender")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    if draw is not None:
        parser.add_argument("--picture", help="draw what was measured into this file")
    arguments = parser.parse_args()
    if arguments.only:
        if not contenders[arguments.only].all_cores:
            pinned()
        print(json.dumps(contenders[arguments.only].work()))
        return
    missing = {
        name: contender.module
        for name, contender in contenders.items()
        if contender.module is not None and util.find_spec(contender.module) is None
    }
    records: dict[str, list[Record]] = {name: [] for name in contenders if name not in missing}
    for _ in range(1 if arguments.quick else arguments.repeats):
        for name, records_of_contender in records.items():
            threads = {} if contenders[name].all_cores else ONE_THREAD
            records_of_contender.append(child(name, {**threads, **contenders[name].environment}))
    medians = {name: median(records_of_contender) for name, records_of_contender in records.items()}
    if draw is not None and arguments.picture:
        draw(medians, arguments.picture)
    found_rows = [outcome(row, medians) for row in rows]
    if arguments.json:
        result = {"job": text, "machine": machine(), "repeats": records, "medians": medians}
        print(json.dumps({**result, "missing": missing, "rows": [row._asdict() for row in found_rows]}))
    else:
        show(text, medians, missing)
        show_rows(text, found_rows)


def child(name: str, environment: Mapping[str, str]) -> Record:
    """Record of a contender, measured in a child process."""
    command = [sys.executable, sys.argv[0], "--only", name]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    record: Record = json.loads(done.stdout.strip().rsplit("\n", 1)[-1])
    return record


def pinned() -> None:
    """Keep this process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@contextmanager
def unpinned() -> Iterator[None]:
    """Allow all cores for this process and its children inside the block."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def fast_blas() -> dict[str, str]:
    """Environment that makes numpy and scipy use AVX-512 on processors that OpenBLAS does not recognise.

    On an AMD EPYC of 2025 OpenBLAS chose AVX2 kernels, with half the speed in float32.
    """
    try:
        with open("/proc/cpuinfo") as file:
            flags = next(set(line.split()) for line in file if line.startswith("flags"))
    except (OSError, StopIteration):
        return {}
    return {"OPENBLAS_CORETYPE": "SkylakeX"} if flags >= AVX512 else {}


def median(records: list[Record]) -> Record:
    """Medians of all numbers; other values come from the first record."""
    return {
        key: statistics.median(record[key] for record in records) if isinstance(value, float) else value
        for key, value in records[0].items()
    }


def outcome(row: Row, medians: Mapping[str, Record]) -> Outcome:
    """Outcome of a row."""
    mine = medians.get(row.ours, {})
    warm, cold = mine.get(row.key), mine.get(row.first)
    outsiders = {outsider: medians[outsider][row.key] for outsider in row.outsiders if outsider in medians}
    best = min(outsiders, key=outsiders.__getitem__, default=None)
    ratio = None if best is None or warm is None else outsiders[best] / warm
    if row.times is not None:
        met = None if ratio is None else ratio >= row.times
        return Outcome(row.job, cold, warm, best, ratio, f"≥ {row.times:g} times", met)
    assert row.most is not None, "a row has a goal"
    return Outcome(row.job, cold, warm, best, ratio, f"≤ {row.most:g}", warm and warm <= row.most)


def show_rows(text: str, rows: Iterable[Outcome]) -> None:
    """Print the rows as a table."""
    if not (rows := list(rows)):
        return
    table = Table("", "cold", "warm", "outsider", "ratio", "goal", "", title=text)
    for row in rows:
        words = "not measured" if row.met is None else "met" if row.met else "NOT MET"
        cells = (row.cold, row.warm, row.outsider, row.ratio, row.goal)
        table.add_row(row.job, *map(_cell, cells), words)
    Console(width=WIDTH).print(table)


def machine() -> dict[str, str]:
    """The class of the machine and the versions, without its name."""
    versions = {"cpu": f"{os.cpu_count()} cores, {platform.machine()}", "python": platform.python_version()}
    for package in PACKAGES:
        if util.find_spec(package.replace("scikit-learn", "sklearn")) is not None:
            versions[package] = metadata.version(package)
    return versions


def show(text: str, medians: Mapping[str, Record], missing: Mapping[str, str | None]) -> None:
    """Print the medians as a table, and the missing packages."""
    keys = list(dict.fromkeys(key for record in medians.values() for key in record))
    table = Table("", *keys, title=text)
    for name, record in medians.items():
        table.add_row(name, *(_cell(record.get(key)) for key in keys))
    console = Console(width=WIDTH)
    console.print(table)
    for name, module in missing.items():
        console.print(f"{name} is left out: {module} is not installed (`make bench` installs it)")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
