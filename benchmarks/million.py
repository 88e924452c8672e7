"""J3: d = 2²⁰ … 2²⁶ features, the loss after every example, to a loss below 0.01; and 1000 examples of GD.

`python benchmarks/million.py [--json] [--repeats N]`. `peak` is MiB above a process that has loaded torch.
Then EGU± for 60 examples and no counts of mistakes: `passes` are those of the engine over its weights,
`expert` is the loop of `one_target.py` on the same rows, and `floor` says how many times as long each takes
as the memory takes at least to read and write the weights once for every example, by a triad in the same
process. Runs of 2²⁶ features are left out where the memory estimate says that they do not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from contest import Contender, Record, contest

from engine.planning import memory_estimate
from engine.planning.run_plan import plan_run
from engine.runtime.run import prepare
from hadamard_tui.headless import bench

D = 1 << 20
SIZES, EXAMPLES, RATE = (20, 24, 26), 60, 0.15


def job(learner: str, examples: int) -> Callable[[], Record]:
    """Run one learner on some examples; record after how many its loss is below 0.01."""

    def work() -> Record:
        done = bench.measure(bench.million(learner, examples), threads=2)
        loss = done.trace.curves[0].mean("loss")
        below = np.flatnonzero(loss < 0.01)
        off = float(np.abs(loss - (1 - np.arange(len(loss)) / D)).max()) if learner == "GD" else None
        return {
            "cpu": done.cpu,
            "wall": done.wall,
            "peak": done.peak,
            "examples": examples,
            "loss < 0.01 after": int(below[0]) if len(below) else None,
            "off 1 − k/d by": off,
        }

    return work


def long_vector(bits: int, expert: bool) -> Callable[[], Record]:
    """EGU± on 60 examples of 2^bits features: the passes of the engine alone, or the expert's loop."""

    def work() -> Record:
        import one_target
        import torch

        d = 1 << bits
        experiment = bench.on_path(bench.million("EGU±", EXAMPLES, d), "compiled")
        torch.set_num_threads(1)
        with torch.no_grad():
            _, (learner_run,) = prepare(plan_run(experiment))
        passes = learner_run.training_run.hypothesis
        rows = passes.examples
        numbers, signs = rows.order[0, :EXAMPLES].numpy(), rows.row_signs[0, :EXAMPLES].numpy()
        start, again = time.perf_counter(), time.process_time()
        if expert:
            one_target.curve(numbers, signs, d, RATE)
            start, again = time.perf_counter(), time.process_time()
            losses = one_target.curve(numbers, signs, d, RATE)
        else:
            passes.learn_ahead([False] * EXAMPLES, [False] * EXAMPLES)
        cpu, wall = time.process_time() - again, time.perf_counter() - start
        floor = EXAMPLES * 16 * d / one_target.bandwidth(d)
        record = {"cpu": cpu, "wall": wall, "floor": cpu / floor}
        if expert:
            passes.learn_ahead([False] * EXAMPLES, [False] * EXAMPLES)
            engine_losses = [float(prediction.losses) for prediction in passes.to_come]
            record["off"] = float(np.abs(losses[1:] - engine_losses).max())
        return record

    return work


CONTENDERS = {name: Contender(job(name, 60)) for name in bench.MILLION}
CONTENDERS["GD"] = Contender(job("GD", 1000))
for bits in SIZES:
    if memory_estimate.fits(bench.million("EGU±", EXAMPLES, 1 << bits), memory_estimate.available("cpu")):
        CONTENDERS[f"2^{bits} passes"] = Contender(long_vector(bits, expert=False))
        CONTENDERS[f"2^{bits} expert"] = Contender(long_vector(bits, expert=True))

if __name__ == "__main__":
    contest("J3: d = 2²⁰ and more, seconds with the threads that there are", CONTENDERS)
