"""Stores of runs under kills, two writers, lost indices, files of a newer version, and full disks.

Forked processes write run after run and acknowledge every run that they were told is stored. Whatever happens
to them, every acknowledged run must be there afterwards, as a whole and with its numbers; every other file
must open with the part that was written.
"""

from __future__ import annotations

import os
import resource
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from engine.core import journal
from engine.results.results import Results
from engine.runtime import run_writer
from engine.runtime.run import NotKept
from engine.runtime.run_reader import opened
from engine.runtime.run_writer import RunWriter
from engine.runtime.store import Store
from engine.runtime.stored_run import StoredRun
from engine.runtime.sweep_run import run_sweep
from engine.spec.documents import sweep_of
from tests.soak.outcome import Outcome

LONGEST = 0.4
"""Maximum seconds until a writer is killed after its first run, in which it stores about four more."""

AT_ONCE = 0.2
"""Share of writers that are killed without waiting for their first run."""

PATIENCE = 60.0
"""Maximum seconds until the first run of a writer."""

COMPARED = 1
"""Number of acknowledged runs of a case whose numbers are computed anew."""

MOST_RUNS = 150
"""Number of runs in a folder beyond which the next case begins with an empty one."""

SMALLEST, LARGEST = 100, 300_000
"""Range of the limits in bytes that stand for a full disk; a run takes 38 or 121 kB, and the index more."""

SEED_BYTES = 4


def document(seed: int) -> dict[str, Any]:
    """A small run of two learners, or for every third seed a sweep of three points."""
    is_sweep = seed % 3 == 0
    axes = {"axes": [{"name": "size", "values": [4, 8, 16]}]} if is_sweep else {}
    picture = {"x": "size", "measure": "loss", "read": {"first_below": 0.5}}
    return {
        **axes,
        **({"pictures": [picture]} if is_sweep else {}),
        "problem": {"matrix": {"kind": "hadamard", "d": "size" if is_sweep else 8}, "target": "feature"},
        "protocol": "one-pass",
        "learners": [
            {"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(2d)"}},
            {"name": "EGU", "architecture": "linear", "update": "egu"},
        ],
        "run": {"replicas": 3, "device": "cpu", "seed": seed},
    }


class Writer:
    """A forked process that stores runs until it is killed, or until it has stored `runs` of them."""

    def __init__(self, folder: Path, seed: int, runs: int = 1 << 20, limit: int | None = None) -> None:
        """Fork.

        Args:
            seed: seed of the first run; the others follow.
            limit: maximum bytes of a file, for a full disk.
        """
        self._acknowledged, written = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(written)
            return
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            run_writer.SECONDS = 0.0  # so that records are appended all the time
            _store_runs(folder, range(seed, seed + runs), written)
            os._exit(0)
        finally:
            os._exit(99)

    def wait(self, random: Random) -> None:
        """Wait for a random time after the first run, or for a random time only."""
        if random.random() >= AT_ONCE:
            select.select([self._acknowledged], [], [], PATIENCE)
        time.sleep(random.uniform(0, LONGEST))

    def end(self, how: signal.Signals | None = None) -> tuple[list[int], int]:
        """Kill the process, or wait for its end, and return the acknowledged seeds and its status."""
        if how is not None:
            os.kill(self.pid, how)
        content = b""
        while piece := os.read(self._acknowledged, 1 << 16):
            content += piece
        os.close(self._acknowledged)
        _, status = os.waitpid(self.pid, 0)
        length = len(content) // SEED_BYTES * SEED_BYTES
        return np.frombuffer(content[:length], np.uint32).tolist(), status


def _store_runs(folder: Path, seeds: range, acknowledged: int) -> None:
    for seed in seeds:
        refused: list[NotKept] = []

        def notify(event: object, refused: list[NotKept] = refused) -> None:
            if isinstance(event, NotKept):
                refused.append(event)

        words = document(seed)
        run_sweep(sweep_of(words), notify=notify, writer=RunWriter(Store(folder), words))
        if not refused:
            os.write(acknowledged, np.uint32(seed).tobytes())


def kill(folder: Path, seed: int, random: Random) -> list[int]:
    """Kill a writer at a random instant."""
    writer = Writer(folder, seed)
    writer.wait(random)
    return writer.end(random.choice((signal.SIGKILL, signal.SIGTERM)))[0]


def two_writers(folder: Path, seed: int, random: Random) -> list[int]:
    """Kill two writers of the same runs, one after the other."""
    writers = [Writer(folder, seed), Writer(folder, seed + random.randrange(4))]
    acknowledged: list[int] = []
    for writer in writers:
        writer.wait(random)
        acknowledged += writer.end(signal.SIGKILL)[0]
    return acknowledged


def index_removed(folder: Path, seed: int, random: Random) -> list[int]:
    """Remove or break files of the index while a process writes, and kill that."""
    writer = Writer(folder, seed)
    writer.wait(random)
    for suffix in random.sample(["", "-wal", "-shm"], random.randint(1, 3)):
        path = folder / f"index.sqlite{suffix}"
        exists = path.exists()
        path.unlink(
            missing_ok=True
        )  # a file that a process has mapped must not be cut: that ends the process
        if exists and random.random() < 0.5:
            path.write_bytes(random.randbytes(random.randrange(5000)))
    time.sleep(random.uniform(0, LONGEST))
    return writer.end(signal.SIGKILL)[0]


def newer_version(folder: Path, seed: int, random: Random) -> list[int]:
    """Kill a writer beside a file of a newer version, and beside a run with frames of a newer version."""
    newer = folder / "20990101T000000-ffffffff.run"
    content = b"hadamard-tui run   2\n" + random.randbytes(500)
    newer.write_bytes(content)
    for path in list(folder.glob("*.run"))[:1]:
        if path != newer:
            journal.append(path, "soul", {"of": seed})
    acknowledged = kill(folder, seed, random)
    assert newer.read_bytes() == content, "the file of a newer version was changed"
    assert str(newer) not in [run.path for run in Store(folder).runs()], "a file of a newer version is listed"
    return acknowledged


def disk_full(folder: Path, seed: int, random: Random) -> list[int]:
    """Let writes beyond a random size fail; the process ends by itself."""
    writer = Writer(folder, seed, runs=4, limit=random.randint(SMALLEST, LARGEST))
    acknowledged, status = writer.end()
    assert status == 0, f"a writer on a full disk ended with {status}"
    return acknowledged


Case = Callable[[Path, int, Random], list[int]]
CASES: dict[str, Case] = {
    "kills of writers": kill,
    "pairs of writers": two_writers,
    "lost indices": index_removed,
    "newer files": newer_version,
    "full disks": disk_full,
}


class Ledger:
    """Runs that were acknowledged in a folder, and files that were read as they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._acknowledged: set[int] = set()
        self._read: set[tuple[str, int, int]] = set()

    def losses(self, acknowledged: list[int], random: Random) -> list[str]:
        """Sentences on acknowledged runs that are missing, incomplete or other than computed.

        Only files that are new or have changed since the last call are opened.
        """
        self._acknowledged.update(acknowledged)
        runs = Store(self._folder).runs(details=True)
        finished = {run.document["run"]["seed"] for run in runs if run.state == "finished"}
        wrong = [f"the run with seed {seed} is lost" for seed in sorted(self._acknowledged - finished)]
        compared = set(random.sample(acknowledged, min(COMPARED, len(acknowledged))))
        for run in runs:
            status = os.stat(run.path)
            file = run.path, status.st_size, status.st_mtime_ns
            if file in self._read:
                continue
            self._read.add(file)
            wrong += _wrong(run, is_compared=run.document["run"]["seed"] in compared)
        return wrong


def _wrong(run: StoredRun, is_compared: bool) -> list[str]:
    subject = f"the run with seed {run.document['run']['seed']}"
    try:
        _, stored_run = opened(Path(run.path))
    except Exception as error:
        return [f"{subject} does not open: {type(error).__name__}: {error}"]
    if run.state != "finished":
        return []
    if not stored_run.complete:
        return [f"{subject} is incomplete"]
    return (
        [f"{subject} has other numbers than were computed"]
        if is_compared and _differs(run, stored_run)
        else []
    )


def _differs(run: StoredRun, reopened: Results) -> bool:
    computed = run_sweep(sweep_of(run.document))
    return any(
        not np.array_equal(curve.mean("loss"), stored.mean("loss"), equal_nan=True)
        for number, trace in computed.traces.items()
        for curve, stored in zip(trace.curves, reopened.traces[number].curves, strict=True)
    )


def run(seed: int, count: int) -> Outcome:
    """Go through the cases `count` times in turn; the n-th is drawn from the seed `seed` + n."""
    outcome = Outcome("stores", seed)
    for words in (document(0), document(1)):  # so that forked processes have everything imported
        run_sweep(sweep_of(words))
    with tempfile.TemporaryDirectory(prefix="soak-") as home:
        folder = Path(home) / "runs"
        ledger = Ledger(folder)
        for number in range(seed, seed + count):
            random = Random(f"store {number}")
            case_name = list(CASES)[number % len(CASES)]
            folder.mkdir(exist_ok=True)
            again = f"python -m tests.soak stores --seed {number} --count 1"
            try:
                acknowledged = CASES[case_name](folder, 1000 * (number - seed + 1), random)
                wrong = ledger.losses(acknowledged, random)
            except AssertionError as error:
                acknowledged, wrong = [], [str(error)]
            outcome.count(case_name)
            outcome.count("runs acknowledged", len(acknowledged))
            for sentence in wrong:
                outcome.fail("loss", f"{case_name}: {sentence}", again)
            if wrong or len(list(folder.glob("*.run"))) > MOST_RUNS:
                shutil.rmtree(folder)
                ledger = Ledger(folder)
            if (number - seed) % 100 == 99:
                print(f"stores: {number - seed + 1} of {count}, {len(outcome.failures)} failures", flush=True)
    return outcome
