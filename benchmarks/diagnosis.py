"""Cost of a diagnosis of 20 000 rows and 500 columns: what scikit-learn's fits take of it, and its memory.

`python -m benchmarks.diagnosis [SPLITS]`, 2 splits unless it says more. Seconds are those of the processor,
so that other programs change them little. The last line scales to 12 splits on two cores.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn.ensemble  # type: ignore[import-untyped]  # noqa: F401  # its memory is no part of the diagnosis

from engine.diagnosis import pairs
from engine.diagnosis.diagnosing import diagnose
from engine.diagnosis.expected_time import expected_seconds
from engine.diagnosis.labelled_table import LabelledTable
from engine.diagnosis.library_learners import FittedLearner, Fitting
from engine.diagnosis.plan import SPLITS, WORKERS, plan_of

ROWS, FEATURES, RELEVANT, NOISE = 20_000, 500, 10, 0.5


def table() -> LabelledTable:
    """Return a table whose labels depend on a few columns."""
    generator = np.random.default_rng(0)
    features = generator.standard_normal((ROWS, FEATURES))
    labels = features[:, :RELEVANT].mean(1) * RELEVANT**0.5 + NOISE * generator.standard_normal(ROWS)
    return LabelledTable("table", "y", features, labels, tuple(map(str, range(FEATURES))))


@contextmanager
def timed_fits() -> Iterator[dict[str, float]]:
    """Sum the processor seconds of every learner of scikit-learn inside the block."""
    seconds = dict.fromkeys(pairs.FITTINGS, 0.0)
    fittings: Any = pairs.FITTINGS
    originals = dict(fittings)

    def timed(name: str, fit: Fitting) -> Fitting:
        def run(*arguments: Any) -> FittedLearner:
            start = time.thread_time()
            fitted = fit(*arguments)
            seconds[name] += time.thread_time() - start
            return fitted

        return run

    fittings.update({name: timed(name, fit) for name, fit in originals.items()})
    yield seconds
    fittings.update(originals)


def main(splits: int) -> None:
    plan = plan_of(described := table(), splits=splits)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with timed_fits() as seconds:
        diagnose(described, plan)
    total = time.process_time() - start
    used = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    for name, learner_seconds in sorted(seconds.items(), key=lambda learner: -learner[1]):
        print(f"{name}: {learner_seconds / total:.0%} of the processor time")
    print(f"all that is no fit of scikit-learn: {1 - sum(seconds.values()) / total:.0%}")
    expected = expected_seconds(plan) * min(WORKERS, os.cpu_count() or 1)
    print(f"announced time of the processor: {expected / total:.2f} times what it took")
    print(f"memory: {used / plan.memory:.2f} times what is announced")
    print(f"{SPLITS} splits on two cores: {total / splits * SPLITS / 2:.0f} s; the limit is 300 s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
