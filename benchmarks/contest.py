"""Contests: every contender in a process of its own, turn by turn (A B A B), medians of the repeats.

What a benchmark is for are its rows, in one form: a job, what it took at first and again, the best outsider
of the same run, how many times as long that took, the goal, and whether it is met.
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
"""What OpenBLAS needs of a processor for its kernels named SkylakeX."""

PACKAGES = ("torch", "numpy", "jax", "numba", "scikit-learn")

WIDTH = 110
"""Columns of tables, which logs have too."""

Record = dict[str, Any]
"""What a contender says of one repeat: cpu and wall in seconds, first and peak where they are measured."""


class Contender(NamedTuple):
    """One way to do a job; `work` runs in a process of its own and returns its record."""

    work: Callable[[], Record]
    module: str | None = None
    """The package that it needs, if that is not one of the program's own."""

    all_cores: bool = False
    """Whether it has all cores, and not one thread on one of them."""

    environment: Mapping[str, str] = {}
    """What is set for its process."""


class Row(NamedTuple):
    """A job, the contenders that it is about, and its goal: one of `times` and `most`."""

    job: str
    ours: str
    outsiders: tuple[str, ...] = ()
    times: float | None = None
    """The best outsider takes at least so many times as long."""

    most: float | None = None
    """It takes at most so much."""

    key: str = "cpu"
    """The number that is compared, of the records."""

    first: str = "first"
    """The same number of the first time in a process, if records have it."""


class Outcome(NamedTuple):
    """A row as it is printed; None is what was not measured."""

    job: str
    cold: float | None
    warm: float | None
    outsider: str | None
    ratio: float | None
    """How many times as long the outsider took."""

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
    """The record of a contender, from a process of its own."""
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
    """Have this process, and those that it starts, on all cores for a while."""
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
    """What has numpy and scipy use AVX-512, where OpenBLAS does not find out that it may.

    On an AMD EPYC of 2025 it took kernels for AVX2, with half the speed in float32.
    """
    try:
        with open("/proc/cpuinfo") as file:
            flags = next(set(line.split()) for line in file if line.startswith("flags"))
    except (OSError, StopIteration):
        return {}
    return {"OPENBLAS_CORETYPE": "SkylakeX"} if flags >= AVX512 else {}


def median(records: list[Record]) -> Record:
    """The median of every number; what is no number is taken from the first."""
    return {
        key: statistics.median(record[key] for record in records) if isinstance(value, float) else value
        for key, value in records[0].items()
    }


def outcome(row: Row, medians: Mapping[str, Record]) -> Outcome:
    """A row with what was measured."""
    mine = medians.get(row.ours, {})
    warm, cold = mine.get(row.key), mine.get(row.first)
    outsiders = {name: medians[name][row.key] for name in row.outsiders if name in medians}
    best = min(outsiders, key=outsiders.__getitem__, default=None)
    ratio = None if best is None or warm is None else outsiders[best] / warm
    if row.times is not None:
        met = None if ratio is None else ratio >= row.times
        return Outcome(row.job, cold, warm, best, ratio, f"≥ {row.times:g} times", met)
    assert row.most is not None, "a row has a goal"
    return Outcome(row.job, cold, warm, best, ratio, f"≤ {row.most:g}", warm and warm <= row.most)


def show_rows(text: str, rows: Iterable[Outcome]) -> None:
    """The rows as a table; ratios below a goal are not met, whatever other runs said."""
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
    """The medians as a table, and what was missing."""
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
