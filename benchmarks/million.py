"""J3: d = 2²⁰ features, the loss after every example, to a loss below 0.01; and 1000 examples of GD.

`python benchmarks/million.py [--json] [--repeats N]`. `peak` is MiB above a process that has loaded torch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from contest import Contender, Record, contest

from hadamard_tui.headless import jobs

D = 1 << 20


def job(learner: str, examples: int) -> Callable[[], Record]:
    """One learner and so many examples, and after how many of them its loss is below 0.01."""

    def work() -> Record:
        done = jobs.measure(jobs.million(learner, examples), threads=2)
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


CONTENDERS = {name: Contender(job(name, 60)) for name in jobs.MILLION}
CONTENDERS["GD"] = Contender(job("GD", 1000))

if __name__ == "__main__":
    contest("J3: d = 2²⁰, seconds with the threads that there are", CONTENDERS)
