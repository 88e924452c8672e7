"""All parts of the soak side by side, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.soak.outcome import Outcome

KEYS, PRESETS, KILLS, STORES = 100_000, 10_000, 1_000, 1_000
MINUTES = 30
LEAST_MINUTES = 3
"""Least minutes for the runs that watch memory, descriptors and threads; they take the rest of the time."""

Part = tuple[str, int, float]
"""Name, seed and count of a part."""


def start(part: Part) -> Outcome:
    """Run a part to its end in a process of its own."""
    name, seed, count = part
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        result = Path(folder) / "outcome.json"
        command = [sys.executable, "-m", "tests.soak", name, "--seed", str(seed), "--count", f"{count:g}"]
        status = subprocess.run([*command, "--json", str(result)]).returncode
        if result.exists():
            return msgspec.json.decode(result.read_bytes(), type=Outcome)
    outcome = Outcome(name, seed)
    outcome.fail(
        "exception", f"this part of the soak ended with {status}", " ".join(["python", *command[1:]])
    )
    return outcome


def all_parts(seed: int, share: float, hours: float | None) -> list[Outcome]:
    """Run all parts in two parallel rows, with `share` of the usual numbers of keys, presets and kills."""
    begun = time.monotonic()

    def rest() -> float:
        return max(LEAST_MINUTES * share, MINUTES * share - (time.monotonic() - begun) / 60)

    keys: list[Callable[[], Part]] = [lambda: ("keys", seed, 0.6 * KEYS * share)]
    second_row: list[Callable[[], Part]] = [
        lambda: ("presets", seed, PRESETS * share),
        lambda: ("kills", seed, KILLS * share),
        lambda: ("stores", seed, STORES * share),
        lambda: ("keys", seed + 1_000_000, 0.4 * KEYS * share),
    ]
    if hours is None:
        return _side_by_side([keys, second_row], lambda: ("runs", seed, rest()))
    return _side_by_side([[lambda: ("runs", seed, 60 * hours)], [*second_row, *keys]], None)


def _side_by_side(rows: list[list[Callable[[], Part]]], last: Callable[[], Part] | None) -> list[Outcome]:
    """Outcomes of rows of parts; the row that ends first takes the last part."""
    outcomes: list[Outcome] = []
    free = threading.Lock()

    def work(row: list[Callable[[], Part]]) -> None:
        for part in row:
            outcomes.append(start(part()))
        if last is not None and free.acquire(blocking=False):
            outcomes.append(start(last()))

    threads = [threading.Thread(target=work, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(outcomes, key=lambda outcome: (outcome.part, outcome.seed))
