"""J5: how the cost grows with the work, as log-log slopes against the operation count.

`python benchmarks/scaling.py [--json] [--quick]`. Slopes are fitted to the upper sizes, where overhead is
small. At the end the first job runs again: no job may slow the next.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from contest import machine, pinned
from rich.console import Console
from rich.table import Table

from engine.spec.experiment import Experiment
from hadamard_tui.headless import jobs

STEPS = 40
FEATURE = {"kind": "feature", "index": 3}
REAL = {"kind": "sparse", "r": 2}
"""Labels that are no classes, so that no errors are counted, which large runs do at some records only."""


def structured(d: int) -> Experiment:
    """EGU± on rows on demand: O(d) for a step and its loss."""
    return jobs.on_path(one("EGU±", d, REAL), "structured")


def dense(d: int) -> Experiment:
    """EGU± on the matrix: O(d²) for the losses of a record."""
    return jobs.on_path(one("EGU±", d, FEATURE), "dense")


def targets(count: int) -> Experiment:
    """EGU for all of `count` features on rows on demand: O(count²) for a step and its loss."""
    return jobs.on_path(jobs.all_targets("EGU", count, min(STEPS, count)), "structured")


def replicas(count: int) -> Experiment:
    """EGU± in so many replicas, at d = 1024: O(count)."""
    return one("EGU±", 1024, REAL, replicas=count)


def one(learner: str, d: int, target: dict[str, Any], **settings: int) -> Experiment:
    protocol = {"kind": "one-pass", "examples": STEPS}
    return jobs.described(d, target, protocol, {learner: jobs.ALL_TARGETS[learner]}, **settings)


SWEEPS: dict[str, tuple[Callable[[int], Experiment], range, int, float]] = {
    "structured, d": (structured, range(7, 21), 4, 1.0),
    "dense, d": (dense, range(7, 14), 3, 2.0),
    "targets, with d": (targets, range(7, 13), 3, 2.0),
    "replicas": (replicas, range(11), 4, 1.0),
}
"""The experiment of a size, sizes as powers of two, how many of them are fitted, the slope predicted."""


def seconds(experiment: Experiment, repeats: int) -> float:
    """The median CPU time of a run, after a first one."""
    jobs.measure(experiment)
    return statistics.median(jobs.measure(experiment).cpu for _ in range(repeats))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    parser.add_argument("--quick", action="store_true", help="one turn, without the largest sizes")
    arguments = parser.parse_args()
    pinned()
    repeats = 1 if arguments.quick else 3
    first = seconds(structured(1 << 14), repeats)
    results = {}
    for name, (experiment, powers, fitted, predicted) in SWEEPS.items():
        sizes = list(powers)[: -2 if arguments.quick else None]
        cost = [seconds(experiment(1 << power), repeats) for power in sizes]
        slope = float(np.polyfit(sizes[-fitted:], np.log2(cost[-fitted:]), 1)[0])
        results[name] = {
            "sizes": [1 << power for power in sizes],
            "cpu": cost,
            "slope": slope,
            "predicted": predicted,
        }
    again = seconds(structured(1 << 14), repeats) / first
    if arguments.json:
        print(json.dumps({"machine": machine(), "sweeps": results, "first job again": again}))
        return
    table = Table("", "sizes", "largest, s", "slope", "predicted", title="J5: cost as work grows")
    for name, found in results.items():
        sizes, cost = found["sizes"], found["cpu"]
        table.add_row(
            name,
            f"{sizes[0]} … {sizes[-1]}",
            f"{cost[-1]:.3g}",
            f"{found['slope']:.2f}",
            f"{found['predicted']:g}",
        )
    Console().print(table)
    print(f"the first job took {again:.2f} times as long after all others")


if __name__ == "__main__":
    main()
