"""A sparse combination of features as the target."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from engine.core.parts import BadInput, Count, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target


class Sparse(Target, frozen=True, tag="sparse"):
    """A few random features make the label: y = X w*, where r entries of w* are 1/√r and the others 0.

    The r places are uniformly random, one draw per replica, and ‖w*‖ = 1. With `signs` every non-zero entry
    is ±1/√r by a fair coin. Source: WGL20 §4; theory.md §2.
    """

    has_w_star: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    r: Annotated[Count, Meta(title="non-zeros r", description="features in the label")] = 5
    signs: Annotated[bool, Meta(title="signs", description="flip each non-zero weight at random")] = False

    @property
    def unit(self) -> bool:
        return True

    @property
    def is_random_feature(self) -> bool:
        return self.r == 1 and not self.signs

    def is_never_zero(self, matrix: Matrix) -> bool:
        """A sum of oddly many ±1/√r is not 0."""
        return matrix.feature_values == "signs" and self.r % 2 == 1

    def are_features(self, matrix: Matrix) -> bool:
        return self.is_random_feature

    def check(self, matrix: Matrix) -> None:
        d = matrix.feature_count()
        if self.r > d:
            those = f"the {d} features; take {d} or fewer" if d > 1 else "the one feature there is; take 1"
            raise BadInput("problem.target.r", f"{self.r} is more than {those}")

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        stream = streams("target")
        places = stream.permutation(matrix.feature_count())[:, : self.r]
        sizes = stream.signs(self.r) if self.signs else np.ones(places.shape)
        return Combination(places[:, None], sizes[:, None] / np.sqrt(self.r))

    def values(self, matrix: Matrix) -> Values:
        if self.r > 1:
            return "any"
        return "any" if self.signs and matrix.feature_values == "bits" else matrix.feature_values
