"""A sparse combination of features as the target."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import BadInput, Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure


class Sparse(Target, frozen=True, tag="sparse"):
    """The label depends on r random features: y = xᵀw*, where r entries of w* are 1/√r, and all others are 0.

    The r features are chosen uniformly at random, one draw per replica, and ‖w*‖ = 1. With `signs`, a fair
    coin decides the sign of every non-zero entry ±1/√r. Source: WGL20 §4; theory/conventions#targets.
    """

    r: Annotated[
        Count, Meta(title="non-zeros r", description="number of features that the label depends on")
    ] = 5
    signs: Annotated[bool, Meta(title="signs", description="give each non-zero weight a random sign")] = False

    def structure(self, matrix: Matrix) -> TargetStructure:
        features = matrix.structure().feature_values
        flipped = self.signs and features == "bits"
        return TargetStructure(
            "any" if self.r > 1 or flipped else features,
            linear=True,
            has_w_star=True,
            unit=True,
            is_random_feature=self.r == 1 and not self.signs,
            are_features=self.r == 1 and not self.signs,
            is_odd=True,
            is_never_zero=features == "signs" and self.r % 2 == 1,  # a sum of an odd number of ±1/√r
        )

    def check(self, matrix: Matrix) -> None:
        d = matrix.feature_count()
        if self.r > d:
            limit = (
                f"the number of features, {d}; take at most {d}"
                if d > 1
                else "the number of features, 1; take 1"
            )
            raise BadInput("problem.target.r", f"{self.r} is more than {limit}")

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        stream = streams("target")
        places = stream.permutation(matrix.feature_count())[:, : self.r]
        sizes = stream.signs(self.r) if self.signs else np.ones(places.shape)
        return Combination(places[:, None], sizes[:, None] / np.sqrt(self.r))
