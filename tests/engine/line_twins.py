"""Comparison of theory lines with naive twins, which compute the same values from the definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from building import experiment
from numpy.typing import NDArray

from engine.core import catalogue
from engine.measures import named
from engine.runtime.run import run
from engine.spec.experiment import Experiment

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""Difference of a line and its twin that counts as rounding, relative to the largest value."""

FACTORS = (1.01, 0.99)
"""A line that is off by one of these must differ from its twin."""


class Naive(NamedTuple):
    """Values of a twin [S, *index] or [R, S, *index], NaN where the line has none."""

    values: Array
    tolerance: Array | float = 0.0
    """Numerical error of the twin, or five standard errors of its draws."""


@dataclass(frozen=True)
class Twin:
    """Arguments of `building.experiment`, and the naive values of a line in that experiment."""

    kind: str
    words: Mapping[str, Any]
    naive: Callable[[Experiment], Naive | Array]
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()

    @property
    def described(self) -> Experiment:
        """Experiment of a twin; it records the measure of the line."""
        measure = named()[catalogue.make("theory", self.kind).measure]
        return experiment(**{"measures": [msgspec.to_builtins(measure)], **self.words})


def values_of(kind: str, described: Experiment) -> Array:
    """Values of a line in a run: [S, *index], or [R, S, *index] if replicas or learners have their own."""
    trace = run(described)
    (line,) = (line for line in trace.lines if line.kind == kind)
    assert line.applies_to, f"{kind} must hold, and bind a learner: {line.on_problem.reason}"
    if line.by_replica is not None:
        return line.by_replica
    if not line.per_learner:
        return line.values
    (along,) = line.by_curve(trace.curves).values()
    return along.values


def agree(values: Array, naive: Naive) -> bool:
    """Whether a line equals its twin everywhere, up to rounding and the error of the twin."""
    expected = np.broadcast_to(naive.values, values.shape)
    rounding = ROUNDING * np.nanmax(np.abs(expected))
    apart = np.abs(values - expected) > naive.tolerance + rounding
    return bool(np.array_equal(np.isnan(values), np.isnan(expected)) and not apart.any())


def check(twin: Twin) -> None:
    """Compare a line with its twin, and check that the twin detects a deviation of one per cent."""
    described = twin.described
    naive, values = twin.naive(described), values_of(twin.kind, described)
    naive = naive if isinstance(naive, Naive) else Naive(naive)
    if not agree(values, naive):
        apart = f"line\n{values}\ntwin\n{naive.values}\n± {naive.tolerance}"
        raise AssertionError(f"{twin.kind} is not what its twin computes from the definition:\n{apart}")
    for factor in FACTORS:
        assert not agree(factor * values, naive), f"the twin of {twin} does not notice a factor of {factor}"
