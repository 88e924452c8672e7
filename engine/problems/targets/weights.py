"""A linear target with given weights."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, SELDOM, BadInput, Count, Values
from engine.core.streams import Streams
from engine.problems.matrices import Matrix
from engine.problems.targets import Combination, Target, TargetStructure

MOST_WEIGHTS = 4096
"""Maximum number of weights that a preset may list."""


class Weights(Target, frozen=True, tag="weights"):
    """The label is y = Σ_i w_i x_i with given weights of the first features. All other weights are 0.

    The theory pages use such fixed weights, for example w = (1, .5, .8), or 1/√5 on the first five features.
    With `copies` r, the list of weights is repeated r times. Source: theory/implicit-bias#kernel-and-rich,
    theory/implicit-bias#optimisation-geometry; theory/symmetry#half-spaces.
    """

    w: Annotated[
        tuple[Annotated[float, Meta(ge=-LARGEST, le=LARGEST)], ...],
        Meta(
            min_length=1,
            max_length=MOST_WEIGHTS,
            title="weights w",
            description="weights of the first features, such as 1, 0.5, 0.8",
        ),
    ] = (1.0, 0.5, 0.8)
    copies: Annotated[
        Count,
        Meta(
            title="copies", description="number of times that the list of weights is repeated", extra=SELDOM
        ),
    ] = 1

    def structure(self, matrix: Matrix) -> TargetStructure:
        features, weights = (
            matrix.structure().feature_values,
            [weight for weight in self._repeated_weights if weight != 0],
        )
        feature = self._repeated_weights.index(1.0) if weights == [1.0] else None
        negated: Values = "signs" if weights == [-1.0] and features == "signs" else "any"
        return TargetStructure(
            negated if feature is None else features,
            linear=True,
            has_w_star=True,
            unit=math.isclose(math.hypot(*self._repeated_weights), 1.0, rel_tol=1e-12),
            given=self._repeated_weights,
            fixed_feature=feature,
            are_features=feature is not None,
            is_odd=True,
            is_never_zero=features == "signs" and _never_cancel([abs(weight) for weight in weights]),
        )

    @property
    def _repeated_weights(self) -> tuple[float, ...]:
        return self.w * self.copies

    def check(self, matrix: Matrix) -> None:
        if len(self.w) * self.copies > (d := matrix.feature_count()):
            place = "w" if self.copies == 1 else "copies"
            raise BadInput(f"problem.target.{place}", f"there are {d} features; give at most {d} weights")

    def combination(self, matrix: Matrix, streams: Streams) -> Combination:
        copies = len(streams.seeds), 1, 1
        return Combination(
            np.tile(np.arange(len(self._repeated_weights)), copies), np.tile(self._repeated_weights, copies)
        )


def _never_cancel(sizes: list[float]) -> bool:
    """Return True if no choice of signs makes Σ ± size 0, in two cases that are easy to detect.

    One size is above the sum of all other sizes, or there is an odd number of sizes, which are all equal.
    """
    dominated = bool(sizes) and 2 * max(sizes) > sum(sizes)
    return dominated or (len(sizes) % 2 == 1 and len(set(sizes)) == 1)
