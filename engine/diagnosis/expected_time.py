"""Expected time of a diagnosis, from its plan and the speed of this machine."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

import numpy as np

from engine.diagnosis.library_learners import extra_trees
from engine.diagnosis.pairs import DiagnosisLearner
from engine.diagnosis.plan import WORKERS, Plan


class FitCost(NamedTuple):
    """Time of one fit to m rows of d features, including predictions for t test rows.

    The unit of each time is `_time_of_fit()`. The times were measured at m = 40 … 2000 and d = 10 … 500.
    """

    fit: float
    """Time that every fit takes."""

    row: float = 0.0
    """Time per training row."""

    cell: float = 0.0
    """Time per cell, m · d."""

    kernel_entry: float = 0.0
    """Time per entry of the kernel matrices, m(m + t), in addition to `kernel_product`."""

    kernel_product: float = 0.0
    """Time per entry and feature, m(m + t)d."""

    is_per_class: bool = False
    """Whether a separate model is fitted to each class, if there are more than two classes."""


LOGISTIC = FitCost(0.5, cell=5e-5, is_per_class=True)
NUMBERS = {
    "l1": FitCost(0.45, cell=3e-6),
    "l2": FitCost(0.08, cell=5e-6),
    "trees": FitCost(0.8, cell=1.3e-4),
    "rbf": FitCost(0.05, kernel_entry=7e-7, kernel_product=7e-9),
    "egu": FitCost(0.03, cell=2e-6),
    "gd": FitCost(0.03, cell=2e-6),
    "spindly": FitCost(0.1, row=1.8e-3, cell=3e-5),
    "dense": FitCost(0.1, row=1.8e-3, cell=3e-5),
    "additive": FitCost(0.12, kernel_entry=3e-7, kernel_product=3e-8),
    "boosted": FitCost(0.6, cell=1.9e-4),
    "mlp": FitCost(0.8, row=1e-2, cell=4e-6),
}
"""Times of fits to numeric labels, by learner."""

CLASSES = NUMBERS | {
    "l1": LOGISTIC,
    "l2": LOGISTIC,
    "trees": FitCost(0.8, cell=5e-5),
    "boosted": FitCost(0.6, cell=1.9e-4, is_per_class=True),
}
"""Times of fits to classes, by learner."""

PROBE_ROWS, PROBE_FEATURES = 60, 20
PROBES = 5
"""Number of fits. Their mean time measures the speed of this machine."""


def work(learner: DiagnosisLearner, size: int, plan: Plan) -> float:
    """Return the expected time of a learner's fits to one split with `size` training examples.

    The unit is the time of a fit of extra trees to 60 rows of 20 features.
    """
    cost = (CLASSES if plan.scores > 1 else NUMBERS)[learner.name]
    models = plan.scores if cost.is_per_class and plan.scores > 2 else 1
    entries = size * (size + plan.tested)
    fit = (
        cost.fit
        + cost.row * size
        + cost.cell * size * plan.features
        + entries * (cost.kernel_entry + cost.kernel_product * plan.features)
    )
    return models * fit * (1 + plan.rotated_at(learner, size))


def total_work(plan: Plan) -> float:
    """Return the expected time of all fits of a diagnosis on one core, in the unit of `work`."""
    return plan.splits * sum(
        work(learner, size, plan) for learner in plan.learners for size in plan.sizes_of(learner)
    )


def expected_seconds(plan: Plan) -> float:
    """Return the expected time of a diagnosis in seconds, measured by small fits on this machine."""
    return total_work(plan) * _time_of_fit() / min(WORKERS, os.cpu_count() or 1)


def _time_of_fit() -> float:
    """Return the mean time of a small fit of extra trees on this machine, in seconds."""
    rows = np.random.default_rng(0).standard_normal((PROBE_ROWS, PROBE_FEATURES))
    extra_trees(rows[:3], rows[:3, 0], rows[:3], False, 0)  # imports scikit-learn
    start = time.perf_counter()
    for _ in range(PROBES):
        extra_trees(rows, rows[:, 0], rows, False, 0)
    return (time.perf_counter() - start) / PROBES
