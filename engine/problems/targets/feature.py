"""One feature as the target."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import MOST_FEATURES, BadInput
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure


class Feature(Target, frozen=True, tag="feature"):
    """One feature is the label: y = X e_i, the sparsest linear target.

    Feature indices start at 0. Source: WKA21 §3; theory/conventions#targets.
    """

    index: Annotated[
        int,
        Meta(ge=0, lt=MOST_FEATURES, title="feature i", description="index of the feature, counted from 0"),
    ] = 3

    def check(self, matrix: Matrix) -> None:
        d = matrix.feature_count()
        if self.index >= d:
            raise BadInput(
                "problem.target.index",
                f"there is no feature {self.index}; "
                + (f"the {d} features are 0 … {d - 1}" if d > 1 else "the only feature is 0"),
            )

    def structure(self, matrix: Matrix) -> TargetStructure:
        values = matrix.structure().feature_values
        return TargetStructure(
            values=values,
            linear=True,
            has_w_star=True,
            unit=True,
            fixed_feature=self.index,
            are_features=True,
            is_odd=True,
            is_never_zero=values == "signs",
        )

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        return Combination.of(np.array([self.index]), 1.0, len(streams.seeds))
