"""How the cost grows with the work: fitted exponents of CPU seconds in d, m, n, the width and the replicas.

`python benchmarks/scaling.py [--json] [--quick] [--picture FILE.svg]`. Exponents are fitted to the upper
sizes, where overhead is small, and drawn beside those of the operation count. At the end the first job runs
again: no job may slow the next.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from contest import Outcome, machine, pinned, show_rows

from engine.core.memory import free_bytes
from engine.core.parts import BadInput
from engine.planning.memory_estimate import needed_bytes
from engine.planning.run_plan import plan_run
from engine.spec.experiment import Experiment
from hadamard_tui.headless import bench

STEPS, CLOSE = 40, 0.1
FEATURE = {"kind": "feature", "index": 3}
REAL = {"kind": "sparse", "r": 2}
"""Labels that are no classes, so that no errors are counted, which large runs do at some records only."""


def structured(d: int) -> Experiment:
    """EGU± on rows on demand: O(d) for a step and its loss."""
    return bench.on_path(one_learner("EGU±", d, REAL), "structured")


def compiled(d: int) -> Experiment:
    """The same in a compiled pass."""
    return bench.on_path(one_learner("EGU±", d, REAL), "compiled")


def dense(d: int) -> Experiment:
    """EGU± on the matrix: O(d²) for the losses of a record."""
    return bench.on_path(one_learner("EGU±", d, FEATURE), "dense")


def targets(count: int) -> Experiment:
    """EGU for all m = d features on rows on demand: O(m d) for a step and its loss."""
    return bench.on_path(bench.all_targets("EGU", count, min(STEPS, count)), "structured")


def rows(n: int) -> Experiment:
    """GD with logistic loss over n rows of 256 random signs: O(n d) for the loss of a record."""
    described = {"kind": "one-pass", "examples": STEPS, "loss": "logistic"}
    matrix: Any = {"kind": "rademacher", "d": 256, "n": n}
    experiment = bench.described(256, FEATURE, described, {"GD": bench.ALL_TARGETS["GD"]}, matrix=matrix)
    return bench.on_path(experiment, "dense")


def width(units: int) -> Experiment:
    """Steps of ReLU nets of so many units for every fourth k of 128 rows: O(k h) for each."""
    net = {"architecture": {**bench.NET, "widths": [units]}, "update": {"kind": "gd", "lr": 1 / (8 * units)}}
    protocol = {"kind": "erm", "every": 4, "steps": STEPS, "tolerance": 0}
    return bench.on_path(bench.described(128, FEATURE, protocol, {"net": net}), "preactivations")


def replicas(count: int) -> Experiment:
    """EGU± in so many replicas, at d = 1024: O(count)."""
    return one_learner("EGU±", 1024, REAL, replicas=count)


def one_learner(learner: str, d: int, target: dict[str, Any], **settings: int) -> Experiment:
    protocol = {"kind": "one-pass", "examples": STEPS}
    return bench.described(d, target, protocol, {learner: bench.ALL_TARGETS[learner]}, **settings)


class Sweep(NamedTuple):
    """Experiment of a size, sizes as powers of two, number of fitted sizes, exponent of operations."""

    experiment: Callable[[int], Experiment]
    powers: range
    fitted: int
    exponent: float


class Found(NamedTuple):
    """Results of a sweep."""

    sizes: list[int]
    cpu: list[float]
    exponent: float
    predicted: float


SWEEPS = {
    "d, compiled": Sweep(compiled, range(8, 27), 5, 1.0),
    "d, by structure": Sweep(structured, range(8, 25), 5, 1.0),
    "d, on the matrix": Sweep(dense, range(8, 15), 2, 2.0),
    "d = m targets": Sweep(targets, range(8, 13), 3, 2.0),
    "n rows": Sweep(rows, range(8, 18), 4, 1.0),
    "width of nets": Sweep(width, range(6, 15), 4, 1.0),
    "replicas": Sweep(replicas, range(11), 4, 1.0),
}


def possible(sweep: Sweep) -> Iterator[int]:
    """Sizes of a sweep that the program accepts and that fit into half of the memory."""
    for power in sweep.powers:
        try:
            if needed_bytes(plan_run(sweep.experiment(1 << power))) > free_bytes() / 2:
                return
        except BadInput:
            if power == sweep.powers[0]:
                raise
            return
        yield 1 << power


def measured(sweep: Sweep, quick: bool) -> Found:
    """Cost of every size and exponent of the upper sizes; `quick` leaves out the largest two."""
    sizes = list(possible(sweep))[: -2 if quick else None]
    cpu = [seconds(sweep.experiment(size), 1 if quick else 3) for size in sizes]
    upper = slice(-sweep.fitted, None)
    exponent = float(np.polyfit(np.log2(sizes[upper]), np.log2(cpu[upper]), 1)[0])
    return Found(sizes, cpu, exponent, sweep.exponent)


def seconds(experiment: Experiment, repeats: int) -> float:
    """Median CPU time of a run after a first one."""
    bench.measure(experiment)
    return statistics.median(bench.measure(experiment).cpu for _ in range(repeats))


def picture(sweeps: Mapping[str, Found], file: str) -> None:
    """Draw cost against size, with a line of the predicted exponent."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "hadamard-tui", "svg.fonttype": "none"}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(13, 6), layout="constrained")
    for panel, (name, sweep) in zip(axes.flat, sweeps.items(), strict=False):
        sizes = np.array(sweep.sizes, float)
        panel.loglog(sizes, sweep.cpu, "o-", base=2, markersize=4)
        panel.loglog(
            sizes, sweep.cpu[-1] * (sizes / sizes[-1]) ** sweep.predicted, "--", base=2, color="gray"
        )
        panel.set_title(f"{name}: exponent {sweep.exponent:.2f}, operations {sweep.predicted:g}", fontsize=9)
        panel.set_yscale("log", base=10)
        panel.set_ylabel("CPU seconds", fontsize=8)
        panel.tick_params(labelsize=8)
    for panel in axes.flat[len(sweeps) :]:
        panel.set_visible(False)
    figure.savefig(file, metadata={"Date": None})


def outcome(name: str, sweep: Found) -> Outcome:
    """Row of a sweep."""
    job = f"{name}, {sweep.sizes[0]} … {sweep.sizes[-1]}: exponent {sweep.exponent:.2f}"
    close = abs(sweep.exponent / sweep.predicted - 1) <= CLOSE
    return Outcome(job, None, sweep.cpu[-1], None, None, f"{sweep.predicted:g} ± 10 %", close)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    parser.add_argument("--quick", action="store_true", help="one turn, without the largest sizes")
    parser.add_argument("--picture", help="draw cost against size into this file")
    arguments = parser.parse_args()
    pinned()
    first = seconds(structured(1 << 14), 3)
    measured_sweeps = {name: measured(sweep, arguments.quick) for name, sweep in SWEEPS.items()}
    again = seconds(structured(1 << 14), 3) / first
    if arguments.picture:
        picture(measured_sweeps, arguments.picture)
    if arguments.json:
        sweeps = {name: measured_sweep._asdict() for name, measured_sweep in measured_sweeps.items()}
        print(json.dumps({"machine": machine(), "sweeps": sweeps, "first job again": again}))
        return
    lines = [outcome(name, measured_sweep) for name, measured_sweep in measured_sweeps.items()]
    lines.append(
        Outcome(
            f"the first job after all others: {again:.2f} times",
            None,
            None,
            None,
            None,
            "≤ 1.1",
            again <= 1.1,
        )
    )
    show_rows("Cost as work grows, CPU seconds of the largest", lines)


if __name__ == "__main__":
    main()
