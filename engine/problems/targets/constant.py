"""The constant target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Combination, Target, TargetStructure


class Constant(Target, frozen=True, tag="constant"):
    """The label is the constant feature of the matrix, or 1 on every row if the matrix has none.

    On a Hadamard matrix, the constant is feature 0. With a random row sign s, a row h of the matrix becomes
    the example (s h, s), so the label is a random sign. On the matrix `hadamard01`, the label is then
    ½(s + 1). If the matrix has no constant feature, the label is not linear in the instances. Source: WKA21
    §3 and the talk, part I; theory/conventions#targets.
    """

    def combination(self, matrix: Matrix, streams: Streams) -> Combination | None:
        if (column := matrix.structure().constant_column) is None:
            return None
        return Combination.of(np.array([column]), 1.0, len(streams.seeds))

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        n, _ = matrix.shape()
        return np.ones((len(streams.seeds), 1, n))

    def structure(self, matrix: Matrix) -> TargetStructure:
        # Without a constant feature, the label stays 1 even if the instance changes sign.
        structure = matrix.structure()
        is_feature = structure.constant_column is not None
        values = structure.feature_values
        if not is_feature:
            values = "bits" if values == "bits" else "signs"
        return TargetStructure(
            values,
            linear=True,
            are_features=is_feature,
            is_odd=is_feature,
            is_never_zero=values == "signs",
        )
