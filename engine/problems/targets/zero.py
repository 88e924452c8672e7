"""Labels that are all 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target, TargetStructure


class Zero(Target, frozen=True, tag="zero"):
    """Every label is 0 or, with label noise, only noise from N(0, σ²).

    If the problem sets `labels` to bernoulli, the labels are fair coins. Source: Abbe, Sandon 2020;
    theory/parities-and-noise#parities, theory/curvature#quadratic-models.
    """

    def structure(self, matrix: Matrix) -> TargetStructure:
        return TargetStructure(is_odd=True, is_zero=True)

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        n, _ = matrix.shape()
        return np.zeros((len(streams.seeds), 1, n))
