"""The constant target."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from engine.core.parts import Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Combination, Target


class Constant(Target, frozen=True, tag="constant"):
    """The label is 1 on every row: the constant feature.

    On a Hadamard matrix this is feature 0, and random row signs make it hard, (s h, s); on the shifted one
    they make it ½(s + 1). On other families it is no linear function of the instances. Source: WKA21 §3 and
    the talk, part I; theory.md §2.
    """

    linear: ClassVar[bool] = True

    def combination(self, matrix: Matrix, streams: Streams) -> Combination | None:
        if matrix.constant_column is None:
            return None
        return Combination.of(np.array([matrix.constant_column]), 1.0, len(streams.seeds))

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        n, _ = matrix.shape()
        return np.ones((len(streams.seeds), 1, n))

    def is_odd(self, matrix: Matrix) -> bool:
        """Only as a feature: the label 1 of other families does not change with the instance."""
        return matrix.constant_column is not None

    def are_features(self, matrix: Matrix) -> bool:
        return matrix.constant_column is not None

    def values(self, matrix: Matrix) -> Values:
        if matrix.constant_column is not None:
            return matrix.feature_values
        return "bits" if matrix.feature_values == "bits" else "signs"
